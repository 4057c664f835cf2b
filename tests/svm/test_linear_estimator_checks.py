"""Linear machines keep all conventions of scikit-learn, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import LinearSVC, LinearSVCCV, LinearSVR


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(fit_intercept=False),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVR(fit_intercept=False),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
        LinearSVCCV(Cs=[0.1, 1.0], cv=3),
    ]
)
def test_linear_machines_keep_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
