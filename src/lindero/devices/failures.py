"""What may go wrong on a card, as errors that say what to do, with the card's memory free again.

torch says that memory has run out by an error of its own, and that a card has failed by a
RuntimeError whose text names CUDA. Both are caught where a call of the user begins: all tensors of
the call are let go first, so that what torch keeps of their memory can be given back.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import TypeVar

from lindero.errors import DeviceError, DeviceMemoryError

Result = TypeVar("Result")

#: How torch and CuPy name a card that does not answer.
_FAILED = re.compile(r"CUDA (driver )?error|cudaError|CUBLAS_STATUS|CUSOLVER_STATUS|CUDNN_STATUS")

#: How they, CUDA's libraries and Triton say that there is too little memory: handles of libraries
#: take theirs beside torch's.
_FULL = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|\[CUDA\]: out of memory|STATUS_ALLOC_FAILED"
    r"|(cublas|cusolverDn|cusparse)Create"
)


def guard(call: Callable[[], Result], card: str) -> Result:
    """What a call returns; errors of the card `card` are turned into ours."""
    failure: DeviceError | None = None
    try:
        return call()
    except (RuntimeError, MemoryError) as error:
        failure = _translate(error, card)
        if failure is None:
            raise
    # Here the error is gone, and with it the tensors of all calls on the way.
    if isinstance(failure, DeviceMemoryError):
        failure = DeviceMemoryError(str(failure) + free_memory(card))
    raise failure


def _translate(error: BaseException, card: str) -> DeviceError | None:
    if isinstance(error, DeviceError):
        return type(error)(str(error))
    kind, text = type(error).__name__, str(error)
    if kind in ("OutOfMemoryError", "OutOfMemory") or _FULL.search(text):
        wanted = re.search(r"[Tt]ried to allocate ([\d.,]+ ?\w+)", text) or re.search(
            r"allocating ([\d.,]+ bytes)", text
        )
        more = f": {wanted[1]} more were asked for" if wanted else ""
        return DeviceMemoryError(f"{card} has too little memory for this{more}.")
    if kind == "AcceleratorError" or _FAILED.search(text):
        said = text.strip().split("\n")[0]
        return DeviceError(
            f"{card} failed: {said}. The estimator is as it was before. A card that has failed "
            "answers no more in this process: save what is in the CPU's memory and start anew."
        )
    return None


def free_memory(card: str) -> str:
    """Give back what torch keeps of the memory of a card; how much of it is free now, in words."""
    gc.collect()
    if not card.startswith("cuda"):
        return ""
    import torch

    try:
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info(card)
    except RuntimeError:  # of a card that has failed
        return ""
    return f" ({free / 2**30:.3g} of its {total / 2**30:.3g} GiB are free now.)"
