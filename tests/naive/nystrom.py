"""Twins of `lindero.kernels.nystrom` and `lindero.kernels.landmarks`, written out."""

import numpy as np


def features(K_rows, K_landmarks):
    """φ of rows from their kernel values with the landmarks, and those among the landmarks."""
    values, vectors = np.linalg.eigh(K_landmarks)
    counted = values > 1e-12 * np.abs(values).max()
    return K_rows @ vectors[:, counted] @ np.diag(values[counted] ** -0.5)


def projection(K_rows, K_landmarks):
    """K̃ = K_nm K_mm⁺ K_mn."""
    return K_rows @ np.linalg.pinv(K_landmarks, rcond=1e-12, hermitian=True) @ K_rows.T


def kernel_gap(K, K_projected, z):
    """The shifts Ez of decision values, and ½ zᵀEz."""
    shifts = (K - K_projected) @ z
    return shifts, 0.5 * z @ shifts


def leverage_scores(K, ridge):
    return np.diag(K @ np.linalg.inv(K + ridge * np.eye(len(K))))


def draw_apart(K, weights, n, random):
    """One row after the other, by its squared distance from those before it, and its weight."""
    chosen = []
    for _ in range(n):
        apart = [
            min([K[i, i] - 2 * K[i, j] + K[j, j] for j in chosen], default=1.0)
            for i in range(len(K))
        ]
        chances = weights * np.array(apart) * ~np.isin(np.arange(len(K)), chosen)
        chosen.append(random.choice(len(K), p=chances / chances.sum()))
    return np.array(chosen)


def move_to_means(X, weights, chosen, steps):
    centres = [X[i] for i in chosen]
    for _ in range(steps):
        nearest = [np.argmin([np.sum((x - c) ** 2) for c in centres]) for x in X]
        for k in range(len(centres)):
            members = [i for i in range(len(X)) if nearest[i] == k]
            if members:
                centres[k] = np.average(X[members], axis=0, weights=weights[members])
    return np.array(centres)
