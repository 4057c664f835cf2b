"""The table of a fit on a device: rows that stay where they are.

`DeviceRows` stands wherever a checked table stands: it is cut by rows, asked for its shape, and
makes its own kernel. What leaves the device are sums over rows, as long as a row or as their
number, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType, WeakValueDictionary, ref

import numpy as np

from lindero.errors import DeviceMemoryError, advise_on_not_finite
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property

if TYPE_CHECKING:
    from torch import Tensor

    from lindero.devices.kernel import DeviceKernel
    from lindero.kernels.operator import KernelFunction, KernelOperator

#: Numbers that are converted to float64 at once.
_BLOCK_NUMBERS = 2**24


class DeviceRows:
    """A table of finite numbers, float32 or float64, contiguous, on a device. `sparse` says that it
    was given as a sparse array."""

    ndim = 2

    def __init__(self, values: Tensor, sparse: bool = False) -> None:
        self.values = values
        self.sparse = sparse
        #: Where these are rows of a larger table: that while it is in use, and which of its rows.
        self._origin: tuple[ReferenceType[DeviceRows], Array] | None = None
        self._kernels: WeakValueDictionary[KernelFunction, KernelOperator] = WeakValueDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "sparse": self.sparse}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def size(self) -> int:
        return len(self) * self.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.values.dtype).removeprefix("torch."))

    @property
    def card(self) -> str:
        """The device, by torch's name."""
        return str(self.values.device)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, rows: Any) -> DeviceRows:
        if isinstance(rows, slice):
            return DeviceRows(self.values[rows].contiguous(), self.sparse)
        import torch

        rows = np.asarray(rows)
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        index = torch.from_numpy(np.ascontiguousarray(places, dtype=np.int64))
        part = DeviceRows(self.values[index.to(self.values.device)], self.sparse)
        whole, before = self._origin or (ref(self), np.arange(len(self)))
        part._origin = whole, before[places]
        return part

    def to_host(self) -> Array:
        """The rows in the memory of the CPU."""
        values: Array = self.values.cpu().numpy()
        return values

    # -- what a fit asks of its table -----------------------------------------------------------

    def max(self, axis: int | None = None) -> Any:
        return self._ends[1] if axis is None else self.values.amax(dim=axis).cpu().numpy()

    def min(self, axis: int | None = None) -> Any:
        return self._ends[0] if axis is None else self.values.amin(dim=axis).cpu().numpy()

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The least and the largest number, for which the device is waited for once."""
        import torch

        least, most = torch.stack(torch.aminmax(self.values)).tolist()
        return least, most

    def _blocks(self) -> Any:
        """Slices of rows, and these rows in float64."""
        height = max(1, _BLOCK_NUMBERS // max(1, self.shape[1]))
        for start in range(0, len(self), height):
            rows = slice(start, start + height)
            yield rows, self.values[rows].double()

    def total_variance(self, weights: Array) -> float:
        """Variance of all entries, rows counted by weight."""
        counts = self.vector(weights)
        total = float(weights.sum()) * self.shape[1]
        mean = sum(float(counts[rows] @ block.sum(dim=1)) for rows, block in self._blocks()) / total
        squares = sum(
            float(counts[rows] @ (block - mean).square().sum(dim=1))
            for rows, block in self._blocks()
        )
        return squares / total

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Mean and variance of each column, rows counted by weight."""
        share = self.vector(weights / weights.sum())
        mean = sum(share[rows] @ block for rows, block in self._blocks())
        variance = sum(share[rows] @ (block - mean).square() for rows, block in self._blocks())
        return mean.cpu().numpy(), variance.cpu().numpy()

    def weighted_sums(self, coefficients: Array) -> Array:
        """Σ_j c_kj x_j for each row k of `coefficients`: (n_columns, n_sums)."""
        factors = self.vector(coefficients)
        sums = self.values.new_zeros((len(coefficients), self.shape[1]), dtype=factors.dtype)
        for rows, block in self._blocks():
            sums += factors[:, rows] @ block
        found: Array = sums.T.cpu().numpy()
        return found

    def products(self, weights: Array, intercepts: Array) -> Tensor:
        """w_k·x + b_k for each row: (n_rows, n_outputs), on the device."""
        import torch

        factors, biases = self.vector(weights), self.vector(intercepts)
        return torch.cat([block @ factors.T + biases for _, block in self._blocks()])

    def scale(self, center: Array | None, deviation: Array) -> DeviceRows:
        """The table with `center` subtracted from each row, and divided by `deviation`."""
        values = self.values
        if center is not None:
            values = values - self.vector(center).to(values.dtype)
        return DeviceRows(values / self.vector(deviation).to(values.dtype), self.sparse)

    def vector(self, values: Array) -> Tensor:
        """Numbers of NumPy's, in float64, where the rows are."""
        import torch

        given = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))
        return given.to(self.values.device)

    # -- kernels and machines -------------------------------------------------------------------

    def make_kernel(self, function: KernelFunction) -> KernelOperator:
        from lindero.devices.kernel import DeviceKernel

        table = self._origin and self._origin[0]()
        if self._origin and table is not None:  # parts of a table share kernel values
            whole = cast("DeviceKernel", table.make_kernel(function))
            return whole.subset(self._origin[1], self.values)
        kernel = self._kernels.get(function)
        if kernel is None:
            kernel = self._kernels[function] = DeviceKernel(self.values, function)
        return kernel

    def choose_landmarks(
        self,
        weights: Array,
        function: KernelFunction,
        n: int,
        method: str,
        random: np.random.Generator,
    ) -> DeviceRows:
        """Rows to see a kernel through, or points near them."""
        from lindero.devices.landmarks import choose_landmarks

        return choose_landmarks(self, weights, function, n, method, random)

    def make_features(self, landmarks: Any, function: KernelFunction) -> Any:
        """What rows look like through landmarks."""
        from lindero.devices.features import make_map

        return make_map(self, landmarks, function)

    def evaluate(
        self,
        vectors: Any,
        function: KernelFunction,
        coefficients: Array,
        intercepts: Array,
        group_sizes: tuple[int, ...] | None,
    ) -> Tensor:
        """The outputs of a machine over support vectors for each row, on the device."""
        from lindero.devices.prediction import evaluate

        if not isinstance(vectors, DeviceRows):
            vectors = place_rows(vectors, self.card)
        rows, known = self.values, vectors.values.to(self.values.device)
        if rows.dtype != known.dtype:  # the finer of the two
            rows, known = rows.double(), known.double()
        return evaluate(
            rows, known, function, self.vector(coefficients), self.vector(intercepts), group_sizes
        )


# -- from arrays to rows ---------------------------------------------------------------------------


def place_rows(X: Any, card: str) -> DeviceRows:
    """A checked table of NumPy's or SciPy's on a card. Sparse ones are made dense there; whole
    numbers become float64."""
    import torch

    sparse = hasattr(X, "indptr")
    _require_memory(X, card)
    if sparse:
        pattern = torch.sparse_csr_tensor(
            torch.from_numpy(X.indptr.astype(np.int64)).to(card),
            torch.from_numpy(X.indices.astype(np.int64)).to(card),
            torch.from_numpy(_as_float(X.data)).to(card),
            size=X.shape,
            check_invariants=False,
        )
        return DeviceRows(pattern.to_dense().contiguous(), sparse=True)
    values = np.ascontiguousarray(_as_float(X))
    if not values.flags.writeable:  # torch warns of those, though nothing is written
        values = values.copy()
    return DeviceRows(torch.from_numpy(values).to(card))


def _require_memory(X: Any, card: str) -> None:
    """Refuse tables that are larger than what is free."""
    if not card.startswith("cuda"):
        return
    import torch

    wanted = X.shape[0] * X.shape[1] * (4 if X.dtype == np.float32 else 8)
    free = torch.cuda.mem_get_info(card)[0]
    free += torch.cuda.memory_reserved(card) - torch.cuda.memory_allocated(card)
    if wanted > free:
        raise DeviceMemoryError(
            f"The table takes {wanted / 2**30:.3g} GiB on {card}, where {free / 2**30:.3g} are "
            "free."
        )


def _as_float(values: Array) -> Array:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def read_tensor(X: Tensor) -> DeviceRows:
    """A tensor of the user as checked rows, where it is."""
    import torch

    X, sparse = X.detach(), X.layout is not torch.strided
    if X.dtype.is_complex or X.dtype in (torch.float16, torch.bfloat16, torch.bool):
        name = str(X.dtype).removeprefix("torch.")
        advice = "X.real is a table of numbers" if X.dtype.is_complex else "pass X.float()"
        raise ValueError(
            f"X holds {name} values; on a device it must be of float32 or float64: {advice}. "
            + ("(Complex data not supported)" if X.dtype.is_complex else "")
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have a row for each sample "
            "and a column for each feature. Pass X.reshape(-1, 1) if it is one feature, or "
            "X.reshape(1, -1) if it is one sample."
        )
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
                "required."
            )
    if sparse:
        X = X.to_dense()
    if not X.dtype.is_floating_point or X.dtype.itemsize < 4:
        X = X.double()
    _require_finite(X)
    return DeviceRows(X.contiguous(), sparse)


def _require_finite(X: Tensor) -> None:
    """Refuse values that are NaN or infinite, and say where the first is."""
    import torch

    if bool(torch.isfinite(X.sum(dtype=torch.float64))):
        return
    bad = ~torch.isfinite(X)
    if not bool(bad.any()):
        return
    row, column = (int(place) for place in torch.nonzero(bad)[0])
    missing = bool(torch.isnan(X[row, column]))
    kind = "NaN" if missing else "infinity"
    raise ValueError(
        f"Input X contains {kind}. The first such value is in row {row}, column {column}. "
        + advise_on_not_finite(infinite=not missing)
    )
