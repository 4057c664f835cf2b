"""Tables in partitions, larger than memory or spread over a cluster: Dask and Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.scale.fitting import fit as fit
    from lindero.scale.fitting import predict as predict
    from lindero.scale.fitting import score as score
    from lindero.scale.runner import PassReport as PassReport

_HOMES = dict.fromkeys(("fit", "predict", "score"), ".fitting") | {"PassReport": ".runner"}
__all__ = [*_HOMES]

__getattr__, __dir__ = load_lazily(__name__, _HOMES)
