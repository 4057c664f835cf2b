"""KKT gaps in extended precision, from the data and a model's coefficients alone."""

import numpy as np

REAL = np.longdouble


def kernel_matrix(X, name, gamma=1.0, degree=3, coef0=0.0):
    """K among the rows of X. The linear one is that of centred rows: where coefficients sum to
    zero, it is the same problem, and the sum need not be zero to the last digit."""
    X = np.asarray(X).astype(REAL)
    if name == "rbf":
        squares = sum((column[:, None] - column) ** 2 for column in X.T)
        return np.exp(-REAL(gamma) * squares)
    if name == "linear":
        X = X - X.mean(axis=0)
        return X @ X.T
    inner = REAL(gamma) * (X @ X.T) + REAL(coef0)
    return np.tanh(inner) if name == "sigmoid" else inner**degree


def gap(v, z, lower, upper):
    """max{v_i : z_i can fall} − min{v_i : z_i can rise}, no less than zero."""
    falls, rises = v[z > lower], v[z < upper]
    if len(falls) == 0 or len(rises) == 0:
        return 0.0
    return float(max(REAL(0), falls.max() - rises.min()))


def classification_gap(K, y, C, z):
    """Of an SVC with labels y = ±1 and signed coefficients z; C may be one for each row."""
    v = K @ z.astype(REAL) - y
    return gap(v, z, np.minimum(0.0, C * y), np.maximum(0.0, C * y))


def regression_gap(K, y, C, epsilon, z):
    """Of an SVR: each row has a variable for either side of the tube. C is a number, or one for
    each row."""
    f = K @ z.astype(REAL) - y
    v = np.concatenate([f + REAL(epsilon), f - REAL(epsilon)])
    both = np.concatenate([np.maximum(z, 0.0), np.minimum(z, 0.0)])
    n = len(z)
    bounds = np.broadcast_to(C, n)
    lower = np.concatenate([np.zeros(n), -bounds])
    upper = np.concatenate([bounds, np.zeros(n)])
    return gap(v, both, lower, upper)


def classifier_machines(codes, n_classes, scheme, support, joined, weights):
    """Rows, signs and signed coefficients of each machine of a classifier, from the coefficients in
    scikit-learn's layout; rows without weight have no part in any."""
    whole = np.zeros((len(joined), len(codes)))
    whole[:, support] = joined
    taking_part = weights > 0
    if n_classes == 2:
        yield (
            np.flatnonzero(taking_part),
            np.where(codes == 1, 1.0, -1.0)[taking_part],
            (whole[0, taking_part]),
        )
    elif scheme == "ovr":
        for c in range(n_classes):
            rows = np.flatnonzero(taking_part)
            yield rows, np.where(codes[rows] == c, 1.0, -1.0), whole[c, rows]
    else:
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                rows = np.flatnonzero(taking_part & ((codes == i) | (codes == j)))
                first = codes[rows] == i
                z = np.where(first, whole[j - 1, rows], whole[i, rows])
                yield rows, np.where(first, 1.0, -1.0), z


def nu_classification_gap(K, y, weights, nu, rho, z):
    """Of a NuSVC of margin `rho` before it was scaled to 1, both in units of the mean weight: the
    larger gap of the two classes, and what is missing from the sum of either, as a share of it."""
    u = weights
    a = y * z * rho
    a = np.where(np.abs(a - u) <= 1e-9 * u, u, a)
    v = K @ (y * a).astype(REAL)
    half = 0.5 * nu * u.sum()
    gaps, missing = [], []
    for side in (1.0, -1.0):
        own = y == side
        signed, bound = side * a[own], side * u[own]
        gaps.append(gap(v[own], signed, np.minimum(0.0, bound), np.maximum(0.0, bound)))
        missing.append(abs(a[own].sum() - half) / half)
    return max(gaps), max(missing)


def nu_regression_gap(K, y, u, nu, z, intercept):
    """Of a NuSVR, the same. Rows may be pulled both ways, which coefficients do not tell: what is
    missing from the sums goes to the rows nearest to the function."""
    half = 0.5 * nu * u.sum()
    f = K @ z.astype(REAL) - y
    up, down = np.maximum(z, 0.0), np.minimum(z, 0.0)
    missing = half - up.sum()
    if missing > 1e-6 * half:  # more than rounding
        for i in np.argsort(np.abs(f + intercept), kind="stable"):
            more = min(missing, u[i] - up[i], u[i] + down[i])
            up[i], down[i], missing = up[i] + more, down[i] - more, missing - more
    return max(gap(f, up, np.zeros(len(z)), u), gap(f, down, -u, np.zeros(len(z)))), (
        abs(up.sum() - half) / half
    )


def novelty_gap(K, weights, nu, a):
    """Of a OneClassSVM, the same."""
    total = nu * weights.sum()
    v = K @ a.astype(REAL)
    return gap(v, a, np.zeros(len(a)), weights), abs(a.sum() - total) / total
