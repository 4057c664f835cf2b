"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import NystromSVC, NystromSVR


@parametrize_with_checks(
    [
        NystromSVC(),
        NystromSVC(n_components=20, multiclass="ovr", landmarks="leverage", warm_start=True),
        NystromSVR(n_components=20, landmarks="random"),
    ]
)
def test_it_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
