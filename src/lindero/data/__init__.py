"""Tables from files of many formats, published data sets, and generators of streams."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lindero.errors import warn_user
from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.data.conll import read_conll as read_conll
    from lindero.data.dataset import Dataset as Dataset
    from lindero.data.fetching import fetch as fetch
    from lindero.data.fetching import list_published as list_published
    from lindero.data.generators import load_tax_table as load_tax_table
    from lindero.data.generators import make_rotating as make_rotating
    from lindero.data.generators import make_sigmoid as make_sigmoid
    from lindero.data.generators import make_sigmoid_grid as make_sigmoid_grid
    from lindero.data.generators import make_xor as make_xor
    from lindero.data.loading import load as load

_MADE = ("load_tax_table", "make_rotating", "make_sigmoid", "make_sigmoid_grid", "make_xor")
_HOMES = {
    "Dataset": ".dataset",
    "load": ".loading",
    "read_conll": ".conll",
    **dict.fromkeys(_MADE, ".generators"),
}
_HOMES |= dict.fromkeys(("fetch", "list_published"), ".fetching")
_RENAMED = {
    "published": "list_published",
    "sigmoid_grid": "make_sigmoid_grid",
    "tax_table": "load_tax_table",
}
_MOVED = ("PrequentialResult", "StreamProgress", "prequential")
__all__ = [*_HOMES]

_load, __dir__ = load_lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        raise AttributeError(f"lindero.data.{name} has moved to lindero.evaluation.{name}.")
    if name not in _RENAMED:
        return _load(name)
    warn_user(f"lindero.data.{name} is now called {_RENAMED[name]}.", FutureWarning)
    return getattr(import_module(__name__), _RENAMED[name])
