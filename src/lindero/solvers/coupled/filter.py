"""Hyperplanes along a stream, followed by a filter: time and memory that do not grow.

The problem is that of adaptive machines along time. In units in which an error costs 1, with
c = C n, the hyperplanes θ_t = (w_t, b_t) of rows x_t minimise

    Σ_t  loss(θ_t·x_t, y_t) + 1/2c ‖w_t‖² + coupling/2c ‖θ_t − θ_{t−1}‖²

Only the last one is wanted on a stream. What all rows so far say of it is the function

    V_t(θ) = min over θ_1 … θ_{t−1} of the sum above, θ_t = θ,

which is found from V_{t−1} in three steps: the hyperplane may move, it is drawn to zero, and a row
is seen. V is kept as a quadratic, ½ (θ − m)ᵀ S⁻¹ (θ − m), with the Gaussian N(m, S) as its picture:

1.  moving:  min over θ' of V(θ') + coupling/2c ‖θ − θ'‖²  is again a quadratic:  S ← S + q I,
    q = c/coupling. Exact.
2.  drawing to zero:  + ‖w‖²/2c  has to be added to all columns; one column in turn gets what all
    rows since its last turn have for it, which costs O(D²) instead of O(D³). The sum over a whole
    turn is right; within it a column's share comes late by at most D rows, or D²/32 where D ≥ 64.
3.  a row:  V(θ) + loss(θ·x, y)  is no quadratic. The loss is replaced by its mean under the
    Gaussian of what is known of the output, N(m·x, s), s = xᵀSx. For the hinge, with
    z = (1 − y m·x)/√s,

        E loss' = −y Φ(z),      E loss'' = φ(z)/√s,

    and one Newton step is taken:  α = Φ/(1 + s φ/√s) in (0, 1),
    m ← m + α y S x,  S ← S − (φ/√s)/(1 + s φ/√s) S x xᵀ S. For the ε-tube of a regression the two
    edges add up.

The multiplier α never leaves [0, 1], as in the exact solution, where rows beyond the margin have 0
and those within have 1. (With a weight, [0, weight]; and a step ends at the latest where the row is
surely right, 6 deviations beyond the margin: that holds back rows of enormous weight.) The mean
over the Gaussian takes the place of the kink: the less is known of an output, the wider it is. Rows
that are surely right (z < −6) change nothing, and those that are surely wrong (z > 6) leave S alone
but for 1e-8 of it: there the loss is linear, and step 3 is exact.

**How near it is to the exact path.** The last hyperplane was compared with that of a fit of all
rows on 160 random streams for each coupling (2 to 8 columns, C from 0.01 to 10, clean and noisy,
calm, turning and abrupt; mostly six times as many rows as matter), b included, at 5000 new rows:

    coupling   angle of w: median, at most   answers alike: median, at least
    1e5              2.8°, 27°                     98.4 %, 90 %
    1e6              1.6°, 12°                     99.0 %, 92 %
    1e7              1.2°,  9°                     99.2 %, 94 %

The farthest are those with C > 2, whose exact machines follow few rows closely. That is measured,
no bound for every stream: the more rows matter, the nearer is a Gaussian to what they say.
Couplings up to 1e5 are therefore followed exactly, unless filters are asked for.

**The reach.** Without rows, what is known would settle at S = a I with 1/(a − q) = 1/a + 1/c, and a
hyperplane would be forgotten at a rate q/a ≈ 1/√coupling: the coupling is the square of the number
of rows that matter. On a stream n is that number, c = C √coupling: an expert is a machine of
parameter C over the last √coupling rows, whatever the length of the stream, and a ≈ C. The
constant b is drawn to zero, too, but 100 times less, which bounds its variance.

**First-order filters** keep S = a I, but for the constant, in time O(D), for wide tables and where
hyperplanes jump: θ ← θ + α y S x with the α in [0, 1] that brings the row to the margin, or to the
tube. The constant has the variance at which it settles, √100 a: what it is drawn to zero less lets
it be known less. On wide tables it is one column of many, and with the variance of the others the
b = −1 of a class that has just appeared would be there for thousands of rows.
"""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from typing import NamedTuple

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: How much less the constant is drawn to zero than weights are.
WEAKER = 100.0

#: Beyond so many standard deviations a row is surely right, or surely wrong.
_SURE = 6.0

#: Least variance of an output, relative to what was known at first: below, it is rounding only, and
#: what is known begins anew.
_LEAST = 1e-13

#: Couplings and Cs beyond these are taken for these: rounding would eat what is known.
_COUPLINGS = 1e-3, 1e15
_CS = 1e-9, 1e9

#: Weights of rows beyond this one make no difference.
_MOST_WEIGHT = 1e12

#: Up to twice so many columns, one is drawn to zero in every row; beyond, in every D//32nd row.
_IN_TURN = 32

#: By how much the variance at which the constant settles exceeds that of weights.
_WIDER = sqrt(WEAKER)

_ROOT_2 = sqrt(2.0)
_ROOT_2_PI = sqrt(2.0 * pi)


class FilterBank(NamedTuple):
    """Filters of one width D for several machines, as compiled loops take them.

    `means` is (machines, filters, D), `spreads` (machines, filters, D, D), the S above; arrays of
    one number a filter are q, c and a. `awake` says which filters take part.
    """

    means: Array
    spreads: Array
    moves: Array
    strengths: Array
    priors: Array
    awake: Array

    @classmethod
    def begin(cls, couplings: Array, Cs: Array, n_machines: int, width: int) -> FilterBank:
        """Filters that have seen nothing; `couplings` and `Cs` have one number for each."""
        couplings, Cs = np.clip(couplings, *_COUPLINGS), np.clip(Cs, *_CS)
        c = Cs * np.sqrt(couplings)
        q = c / couplings
        a = 0.5 * (q + np.sqrt(q * q + 4.0 * c * q))
        n_filters = len(c)
        means = np.zeros((n_machines, n_filters, width))
        spreads = np.zeros((n_machines, n_filters, width, width))
        bank = cls(means, spreads, q, c, a, np.ones(n_filters, dtype=np.bool_))
        bank.clear(slice(None))
        return bank

    def clear(self, machines: slice) -> None:
        """Let some machines know nothing."""
        at = np.arange(self.means.shape[2])
        self.means[machines], self.spreads[machines] = 0.0, 0.0
        self.spreads[machines][:, :, at, at] = self.priors[:, None]

    def copy(self) -> FilterBank:
        return FilterBank(*(array.copy() for array in self))


class FirstOrderBank(NamedTuple):
    """First-order filters: `means` (machines, filters, D), their a, and the draw to zero a row."""

    means: Array
    priors: Array
    draws: Array

    @classmethod
    def begin(cls, couplings: Array, Cs: Array, n_machines: int, width: int) -> FirstOrderBank:
        full = FilterBank.begin(couplings, Cs, 1, 0)
        means = np.zeros((n_machines, len(full.priors), width))
        return cls(means, full.priors, full.moves / full.priors)

    def copy(self) -> FirstOrderBank:
        return FirstOrderBank(*(array.copy() for array in self))


@compiled(FAST)
def find_output(mean, row):  # type: ignore[no-untyped-def]
    """The output of a hyperplane."""
    total = 0.0
    for i in range(mean.size):
        total += mean[i] * row[i]
    return total


@compiled(FAST)
def forget_spread(spread, prior):  # type: ignore[no-untyped-def]
    """Let what is known of a hyperplane begin anew, where it stands."""
    for i in range(spread.shape[0]):
        for j in range(spread.shape[0]):
            spread[i, j] = prior if i == j else 0.0


@compiled(FAST)
def step_filter(  # type: ignore[no-untyped-def]
    mean, spread, row, target, weight, tube, move, strength, prior, at, constant, products
):
    """One row for one filter: the three steps. `tube` is ε, or negative for a margin; `at` counts
    the rows, `constant` is the column of ones, `products` has room for D numbers."""
    D = mean.size
    for i in range(D):
        spread[i, i] += move
    stride = max(1, D // _IN_TURN)
    if at % stride == 0:
        column = (at // stride) % D
        precision = stride * D / strength
        if column == constant:
            precision /= WEAKER
        known = spread[column, column]
        gain = precision / (1.0 + precision * known)
        pull = gain * mean[column]
        for i in range(D):
            products[i] = spread[i, column]
        for i in range(D):
            mean[i] -= pull * products[i]
            scaled = gain * products[i]
            for j in range(D):
                spread[i, j] -= scaled * products[j]
    if weight == 0.0:
        return
    s, output, norm = 0.0, 0.0, 0.0
    for i in range(D):
        total = 0.0
        for j in range(D):
            total += spread[i, j] * row[j]
        products[i] = total
        s += total * row[i]
        output += mean[i] * row[i]
        norm += row[i] * row[i]
    if not s > _LEAST * prior * norm:
        forget_spread(spread, prior)
        for i in range(D):
            products[i] = prior * row[i]
        s = prior * norm
    deviation = sqrt(s)
    if tube < 0.0:
        z = (1.0 - target * output) / deviation
        if z < -_SURE:
            return
        most = (z + _SURE) / deviation
        slope = target * 0.5 * (1.0 + erf(z / _ROOT_2))
        curvature = exp(-0.5 * z * z) / (_ROOT_2_PI * deviation)
    else:
        above = (target - output - tube) / deviation
        below = (output - target - tube) / deviation
        if above < -_SURE and below < -_SURE:
            return
        most = (max(above, below) + _SURE) / deviation
        slope = 0.5 * (erf(above / _ROOT_2) - erf(below / _ROOT_2))
        curvature = exp(-0.5 * above * above) + exp(-0.5 * below * below)
        curvature /= _ROOT_2_PI * deviation
    weight = min(weight, _MOST_WEIGHT)
    damping = 1.0 + weight * curvature * s
    step = min(max(weight * slope / damping, -most), most)
    gain = weight * curvature / damping
    sound = True
    for i in range(D):
        mean[i] += step * products[i]
        scaled = gain * products[i]
        for j in range(D):
            spread[i, j] -= scaled * products[j]
        sound = sound and spread[i, i] > 0.0
    if not sound:
        forget_spread(spread, prior)


@compiled(FAST)
def step_first_order(  # type: ignore[no-untyped-def]
    mean, row, target, weight, tube, prior, draw, constant
):
    """One row for one first-order filter."""
    s, output = 0.0, 0.0
    for i in range(mean.size):
        mean[i] *= 1.0 - (draw / _WIDER if i == constant else draw)
        s += row[i] * row[i]
        output += mean[i] * row[i]
    s += (_WIDER - 1.0) * row[constant] * row[constant]
    s = max(s * prior, _LEAST * prior)
    if tube < 0.0:
        step = target * min(weight, max(0.0, (1.0 - target * output) / s))
    else:
        off = target - output
        step = min(weight, max(0.0, (abs(off) - tube) / s))
        if off < 0.0:
            step = -step
    for i in range(mean.size):
        mean[i] += step * prior * row[i]
    mean[constant] += (_WIDER - 1.0) * step * prior * row[constant]
