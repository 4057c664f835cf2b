"""What runs on a device: which machines, kernels and formulations, and by which solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lindero.errors import DeviceRefusal

if TYPE_CHECKING:
    from lindero.problems.formulation import Formulation
    from lindero.solvers.solution import Solver

#: Rows from which interior points are ahead of decomposition on linear kernels: problems of fewer
#: are solved side by side, on a table of their kernel values.
_FEWEST_ROWS = 2_000


def require_device_machine(estimator: Any) -> None:
    """Refuse estimators and kernels that only the CPU computes."""
    name, kernel = type(estimator).__name__, getattr(estimator, "kernel", None)
    if not getattr(estimator, "_runs_on_devices", False):
        raise DeviceRefusal(f"{name} runs on the CPU only.")
    if callable(kernel):
        raise DeviceRefusal("The kernel is a function in Python, which the CPU has to call.")
    if kernel == "precomputed":
        raise DeviceRefusal("A precomputed kernel matrix is used by the CPU only.")


def choose_device_solver(
    name: str, formulation: Formulation, kernel: str, shape: tuple[int, int]
) -> Callable[..., Solver]:
    """A constructor of solvers for problems over rows on a device: `shape` is the rows of the
    largest one, and the columns.

        few columns, many rows, linear     interior points, or Newton's method for squared losses
        many columns, squared losses       Newton's method with conjugate gradients
        everything else                    decomposition, or Newton's method for Gaussian kernels
    """
    from lindero.devices.linear import MOST_DIRECT, DeviceLinearSolver
    from lindero.devices.solver import DeviceSolver
    from lindero.solvers.wrappers import ScaledSolver

    (n_rows, n_columns), linear = shape, kernel == "linear"
    if name not in ("auto", "working_set") and not (name == "interior_point" and linear):
        raise DeviceRefusal(f"solver={name!r} runs on the CPU only: leave it 'auto'.")
    if formulation.hard:
        raise DeviceRefusal("C=inf is solved by the CPU only: give C a number.")
    if formulation.keeps_weights:
        raise DeviceRefusal("penalty='l1' is solved by the CPU only.")
    if formulation.scale_free:
        return partial(ScaledSolver, base=DeviceSolver)
    few = n_columns <= MOST_DIRECT
    if formulation.squared or (name == "interior_point" and few):
        return DeviceLinearSolver
    if not formulation.has_bias:
        if linear and few:
            return DeviceLinearSolver
        raise DeviceRefusal(
            "fit_intercept=False is solved by the CPU only, but for linear machines with at most "
            f"{MOST_DIRECT:,} features or squared losses."
        )
    many = n_rows >= _FEWEST_ROWS and n_rows > n_columns
    if linear and few and many and name == "auto":
        return DeviceLinearSolver
    return DeviceSolver
