"""scikit-learn's own checks of its conventions for the incremental machines: no exceptions, but one
for windows."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR


@parametrize_with_checks(
    [
        IncrementalSVC(),
        IncrementalSVC(kernel="linear", cost_positive=2.0, cost_negative=1.5),
        IncrementalSVC(kernel="poly", degree=2, coef0=1.0),
        IncrementalSVR(),
        IncrementalSVR(kernel="linear"),
        IncrementalOneClassSVM(),
        IncrementalOneClassSVM(kernel="linear"),
        IncrementalOneClassSVM(nu=0.1),
    ]
)
def test_incremental_machines_keep_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def _find_exceptions(estimator):
    if isinstance(estimator, IncrementalSVR):
        return {}
    reason = "A window counts rows, whatever their weights."
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(
    [IncrementalSVC(window="auto", max_window=75), IncrementalSVR(window="auto", max_window=75)],
    expected_failed_checks=_find_exceptions,
)
def test_windows_that_find_their_length_keep_them_too(estimator, check):
    check(estimator)
