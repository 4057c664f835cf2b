"""What memory a device has left."""

from __future__ import annotations

import torch

#: What is taken for free where a device does not say: in rehearsals, on the CPU.
_REHEARSED = float(2**31)


def free_bytes(device: torch.device) -> float:
    """Memory that a device has left, with what torch holds unused of it."""
    if device.type != "cuda":
        return _REHEARSED
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(free + held)
