"""Loops for the card in Triton's interpreter: a process of its own, since Triton asks once, as it
is loaded, whether to interpret. Prints what was found as JSON."""

import json

import torch
from triton.runtime import interpreter

from tests.devices import interpreted, interpreted_loops, interpreted_prediction

_patch = interpreter._patch_lang_tensor


def patch_index(tensor, scope):
    """Loops count to arrays of one number, which newer NumPy does not take for it."""
    _patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


def main():
    interpreter._patch_lang_tensor = patch_index
    found = {}
    for part in (interpreted, interpreted_loops, interpreted_prediction):
        torch.manual_seed(0)
        found[part.__name__.rpartition(".")[2]] = part.main()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
