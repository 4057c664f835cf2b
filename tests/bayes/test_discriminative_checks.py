"""scikit-learn's own checks of classifiers learned for prediction, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.bayes import TAN, NaiveBayes, StructuralTM

MACHINES = [
    NaiveBayes(learning="discriminative", penalty=10.0),
    TAN(learning="discriminative", penalty=10.0),
    StructuralTM(penalty=10.0),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
@parametrize_with_checks(MACHINES)
def test_estimator_checks(estimator, check):
    check(estimator)
