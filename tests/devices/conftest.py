"""Tables of these tests are small: threads of torch would wait for each other most of the time."""

from contextlib import suppress

with suppress(ImportError):
    import torch

    torch.set_num_threads(1)
