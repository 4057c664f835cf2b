"""scikit-learn's own checks of estimators, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier

MACHINES = [
    NaiveBayes(),
    NaiveBayes(numeric="mdl"),
    NaiveBayes(numeric="quantile", n_bins=4, unseen="missing"),
    TAN(),
    TAN(numeric="gaussian"),
    TAN(missing="em"),
    KDB(),
    KDB(4, selective=True),
    KDB(1, numeric="uniform", n_bins=5, unseen="error"),
    AODE(),
    AODE(numeric="gaussian"),
    NetworkClassifier(),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
@parametrize_with_checks(MACHINES)
def test_estimator_checks(estimator, check):
    check(estimator)
