"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import CostSensitiveSVC


@parametrize_with_checks(
    [
        CostSensitiveSVC(),
        CostSensitiveSVC(cost_positive=4.0, cost_negative=1.5),
        CostSensitiveSVC(cost_positive=2.0, cost_negative=0.75),
        CostSensitiveSVC(cost_positive=3.0, cost_negative=2.0, kernel="linear"),
        CostSensitiveSVC(cost_negative=1.2, kernel="linear", solver="interior_point"),
        CostSensitiveSVC(cost_positive=3.0, kernel="precomputed"),
        CostSensitiveSVC(cost_positive=4.0, cost_negative=2.0, warm_start=True),
    ]
)
def test_it_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
