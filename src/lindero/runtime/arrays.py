"""The type of arrays in signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: A NumPy array of any shape and dtype.
Array = np.ndarray[Any, np.dtype[Any]]
