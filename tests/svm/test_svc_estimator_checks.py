"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import SVC


@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear"),
        SVC(kernel="linear", solver="interior_point"),
        SVC(kernel="linear", solver="working_set"),
        SVC(kernel="poly", degree=3),
        SVC(kernel="sigmoid"),
        SVC(kernel="precomputed"),
        SVC(multiclass="ovr"),
        SVC(break_ties=True),
        SVC(class_weight="balanced"),
        SVC(warm_start=True),
    ]
)
def test_svc_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
