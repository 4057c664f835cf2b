"""scikit-learn's own checks of its conventions, with no exceptions granted.

ν of the classifiers is small enough for the classes of the checks, and for kernels that suit their
data.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import SVR, NuSVC, NuSVR, OneClassSVM


@parametrize_with_checks(
    [
        NuSVC(nu=0.2),
        NuSVC(nu=0.1, multiclass="ovr"),
        NuSVC(nu=0.2, break_ties=True),
        SVR(),
        SVR(kernel="linear"),
        SVR(kernel="linear", solver="interior_point"),
        SVR(kernel="poly"),
        SVR(kernel="precomputed"),
        SVR(warm_start=True),
        NuSVR(),
        NuSVR(kernel="linear"),
        NuSVR(kernel="precomputed"),
        OneClassSVM(),
        OneClassSVM(kernel="linear"),
        OneClassSVM(nu=0.1),
    ]
)
def test_the_family_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
