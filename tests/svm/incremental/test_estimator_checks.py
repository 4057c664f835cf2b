"""scikit-learn's own checks of its conventions for the incremental machines, no exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR


@parametrize_with_checks(
    [
        IncrementalSVC(),
        IncrementalSVC(kernel="linear", cost_positive=2.0, cost_negative=1.5),
        IncrementalSVC(kernel="poly", degree=2, coef0=1.0),
        IncrementalSVC(window="auto", max_window=75),
        IncrementalSVR(),
        IncrementalSVR(kernel="linear"),
        IncrementalSVR(window="auto", max_window=75),
        IncrementalOneClassSVM(),
        IncrementalOneClassSVM(kernel="linear"),
        IncrementalOneClassSVM(nu=0.1),
    ]
)
def test_incremental_machines_keep_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
