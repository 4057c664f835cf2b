"""Passes over the rows of a coupled problem in one interior-point step, compiled; the formulas are
at the top of `coupled_rows`. Each works on a range of nodes, for threads; rows without weight
(u = 0) take no part."""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def look(rows, state, f, start, stop, sigma, weights, pull):  # type: ignore[no-untyped-def]
    """σ of rows and its sum over nodes, what the predictor pulls nodes with, and Σ a t + β ξ,
    Σ losses, Σ a r + losses. The last three are not finite where the iterate has met a bound."""
    s, p, u = rows
    a, b, t, x = state
    products, losses, gap = 0.0, 0.0, 0.0
    for i in range(start, stop):
        weights[i] = 0.0
        pull[i] = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            products += a[side, i] * t[side, i] + b[side, i] * x[side, i]
            own = 1.0 / (x[side, i] / b[side, i] + t[side, i] / a[side, i])
            residual = p[side, i] + s[side, i] * f[i]
            loss = u[side, i] * max(0.0, -residual)
            losses += loss
            gap += a[side, i] * residual + loss
            sigma[side, i] = own
            weights[i] += own
            pull[i] += s[side, i] * (a[side, i] - own * residual)
            if not own < np.inf:
                return np.nan, np.nan, np.nan
    return products, losses, gap


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def predict(rows, state, f, df, start, stop, sigma):  # type: ignore[no-untyped-def]
    """The predictor's steepest approach to a bound, and Σ da dt + dβ dξ."""
    s, p, u = rows
    a, b, t, x = state
    steepest, cross = 0.0, 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = -sigma[side, i] * (p[side, i] + s[side, i] * (f[i] + df[i]))
            up, down = da / a[side, i], da / b[side, i]
            # −dt/t = 1 + da/a and −dξ/ξ = 1 − da/β.
            steepest = max(steepest, -up, down, 1.0 + up, 1.0 - down)
            cross += da * (x[side, i] * (1.0 - down) - t[side, i] * (1.0 + up))
    return steepest, cross


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def correct(rows, state, f, df, target, start, stop, sigma, moves, pull):  # type: ignore[no-untyped-def]
    """What the corrector pulls nodes with; `moves` receives −p − s f − λ/β + κ/a, κ/a and λ/β."""
    s, p, u = rows
    a, b, t, x = state
    da_, dt_, dx_ = moves
    for i in range(start, stop):
        pull[i] = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = -sigma[side, i] * (p[side, i] + s[side, i] * (f[i] + df[i]))
            dt = -t[side, i] * (1.0 + da / a[side, i])
            dx = -x[side, i] * (1.0 - da / b[side, i])
            towards_t = (target - da * dt) / a[side, i]
            towards_x = (target + da * dx) / b[side, i]
            r = towards_t - towards_x - p[side, i] - s[side, i] * f[i]
            da_[side, i] = r
            dt_[side, i] = towards_t
            dx_[side, i] = towards_x
            pull[i] += s[side, i] * (a[side, i] + sigma[side, i] * r)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def conclude(rows, state, df, start, stop, sigma, moves):  # type: ignore[no-untyped-def]
    """The corrector's moves, in place of what `correct` left, and their steepest approach."""
    s, _, u = rows
    a, b, t, x = state
    da_, dt_, dx_ = moves
    steepest = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = sigma[side, i] * (da_[side, i] - s[side, i] * df[i])
            dt = dt_[side, i] - t[side, i] * (1.0 + da / a[side, i])
            dx = dx_[side, i] - x[side, i] * (1.0 - da / b[side, i])
            da_[side, i], dt_[side, i], dx_[side, i] = da, dt, dx
            steepest = max(
                steepest, -da / a[side, i], da / b[side, i], -dt / t[side, i], -dx / x[side, i]
            )
    return steepest


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def advance(state, moves, length, start, stop):  # type: ignore[no-untyped-def]
    """Go `length` of the way."""
    a, b, t, x = state
    da, dt, dx = moves
    for side in range(a.shape[0]):
        for i in range(start, stop):
            a[side, i] += length * da[side, i]
            b[side, i] -= length * da[side, i]
            t[side, i] += length * dt[side, i]
            x[side, i] += length * dx[side, i]
