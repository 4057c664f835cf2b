from typing import Any
def fit_counts(model: Any, source: Any, runner: Any) -> None: raise NotImplementedError
