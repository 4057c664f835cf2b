"""What a fitted machine says of its own optimality."""

from __future__ import annotations

from typing import Any

_COUNTED = "Learned by counting: exact, with nothing to converge."


def convergence_of(model: Any) -> tuple[dict[str, Any], str]:
    """As plain values, and as a sentence."""
    from lindero.evaluation.build import unwrap_machine

    final = unwrap_machine(model)
    certificate = getattr(final, "certificate_", None)
    if certificate is not None:
        names = ("status", "kkt_gap", "primal", "dual", "infeasibility", "n_iter")
        values = {name: getattr(certificate, name) for name in names}
        n_iter = certificate.n_iter
        steps = f", {n_iter} step{'s' if n_iter > 1 else ''}" if n_iter else ""
        return values, f"{certificate.status} (KKT gap {certificate.kkt_gap:.2g}{steps})"
    convergence = getattr(final, "convergence_", None)
    status = getattr(convergence, "status", getattr(final, "status_", None))
    if status is not None:
        return {"status": str(status)}, str(status)
    return {"status": _COUNTED}, _COUNTED
