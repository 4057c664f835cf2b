"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.evaluation import TableEncoder


@parametrize_with_checks([TableEncoder(), TableEncoder(categorical_features="all")])
def test_the_encoder_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
