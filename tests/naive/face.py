"""Twin of `lindero.solvers.face`, where the optimum of the face is inside the box."""

import numpy as np


def solve_on_face(K, z, v, free):
    """v_F + b = 0 and Σz unchanged, solved as one linear system."""
    n = len(free)
    system = np.block([[K[np.ix_(free, free)], np.ones((n, 1))], [np.ones((1, n)), np.zeros(1)]])
    step = np.linalg.lstsq(system, np.append(-v[free], 0.0), rcond=None)[0][:n]
    z = z.copy()
    z[free] += step
    return z, v + K[:, free] @ step
