"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm.rank_svm import RankSVM


@parametrize_with_checks(
    [
        RankSVM(),
        RankSVM(kernel="rbf"),
        RankSVM(kernel="poly", degree=2),
        RankSVM(kernel="sigmoid"),
        RankSVM(kernel="precomputed"),
    ]
)
def test_rank_svm_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
