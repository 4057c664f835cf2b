"""What runs on a device: which machines, kernels and formulations, and by which solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lindero.errors import DeviceRefusal

if TYPE_CHECKING:
    from lindero.problems.formulation import Formulation
    from lindero.solvers.solution import Solver


def require_device_machine(estimator: Any) -> None:
    """Refuse estimators and kernels that only the CPU computes."""
    name, kernel = type(estimator).__name__, getattr(estimator, "kernel", None)
    if not getattr(estimator, "_runs_on_devices", False):
        raise DeviceRefusal(f"{name} runs on the CPU only.")
    if callable(kernel):
        raise DeviceRefusal("The kernel is a function in Python, which the CPU has to call.")
    if kernel == "precomputed":
        raise DeviceRefusal("A precomputed kernel matrix is used by the CPU only.")


def choose_device_solver(name: str, formulation: Formulation) -> Callable[..., Solver]:
    """A constructor of solvers for problems over rows on a device."""
    from lindero.devices.solver import DeviceSolver
    from lindero.solvers.wrappers import ScaledSolver

    if name not in ("auto", "working_set"):
        raise DeviceRefusal(f"solver={name!r} runs on the CPU only: leave it 'auto'.")
    if formulation.hard:
        raise DeviceRefusal("C=inf is solved by the CPU only: give C a number.")
    if not formulation.has_bias:
        raise DeviceRefusal("fit_intercept=False is solved by the CPU only.")
    if formulation.squared or formulation.keeps_weights:
        raise DeviceRefusal("This loss or penalty is solved by the CPU only.")
    if formulation.scale_free:
        return partial(ScaledSolver, base=DeviceSolver)
    return DeviceSolver
