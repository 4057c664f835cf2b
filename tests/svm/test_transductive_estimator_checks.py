"""scikit-learn's own checks of its conventions. One has labels -1 and 1 only, which are an error
unless `unlabelled` says what -1 is."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import TransductiveSVC

AMBIGUOUS = {"check_classifiers_classes": "labels -1 and 1: -1 may be a class, or no label"}


def find_expected_failures(estimator):
    return AMBIGUOUS if estimator.unlabelled == "auto" else {}


@parametrize_with_checks(
    [
        TransductiveSVC(),
        TransductiveSVC(unlabelled=None, kernel="linear", method="annealing", warm_start=True),
        TransductiveSVC(unlabelled=None, method="cccp", balance="labelled", held_out_folds=0),
    ],
    expected_failed_checks=find_expected_failures,
)
def test_it_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
