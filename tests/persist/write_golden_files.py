"""Model files of this version, kept for ever, with what the models answer.

    python -m tests.persist.write_golden_files

writes the files that are not there yet to ``golden/format-1``. What is there stays: later versions
must read it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from lindero.persist import save
from lindero.persist.container import FORMAT_VERSION
from tests.persist.model_bank import answers, cases

FOLDER = Path(__file__).parent / "golden"


def _rows(rows: Any) -> dict[str, Any]:
    dense = rows.toarray() if sp.issparse(rows) else rows
    listed = dense.tolist() if hasattr(dense, "tolist") else dense
    return {"sparse": sp.issparse(rows), "rows": listed}


def main() -> None:
    folder = FOLDER / f"format-{FORMAT_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        path = folder / (re.sub(r"\W+", "-", case.name).lower() + ".lin")
        if path.exists() or case.rows is None:
            continue
        estimator = case.made()
        # As it is, before it is asked: some models are estimated only then.
        save(estimator, path)
        told = [values.tolist() for values in answers(case, estimator)]
        expected = {"case": case.name, **_rows(case.rows), "answers": told}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n", encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
