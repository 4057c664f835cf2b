"""scikit-learn's own checks of TMClustering, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.bayes import TMClustering

MACHINES = [
    TMClustering(n_init=2, max_clusters=4),
    TMClustering(3, n_init=2),
    TMClustering(2, method="tm", n_init=2),
    TMClustering(2, numeric="quantile", n_bins=4, n_init=2, unseen="smooth"),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
@parametrize_with_checks(MACHINES)
def test_estimator_checks(estimator, check):
    check(estimator)
