"""scikit-learn's own checks of its conventions, with no exceptions granted."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import SVCCV, SVRCV

GRID = {"Cs": [0.1, 10], "gammas": ["scale", 1.0], "cv": 2}
LINE = {"Cs": [0.1, 10], "cv": 2}


@parametrize_with_checks(
    [
        SVCCV(**GRID),
        SVCCV(cv=2),
        SVCCV(**LINE, kernel="linear"),
        SVCCV(**GRID, multiclass="ovr", class_weight="balanced"),
        SVRCV(**GRID),
        SVRCV(**LINE, standardize=True),
        SVRCV(**LINE, kernel="linear"),
        SVRCV(**LINE, kernel="precomputed"),
    ]
)
def test_searches_keep_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
