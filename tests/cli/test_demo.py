"""``lindero demo``: everything in one go."""

import json
import re

from tests.cli.running import lindero


def test_the_demo_compares_follows_and_forgets(tmp_path):
    done = lindero("demo", "--folder", "shown", "--json", folder=tmp_path)
    assert done.returncode == 0
    # Nothing but lines of progress, "12 s: ...".
    assert all(re.match(r"\d+ s: ", line) for line in done.stderr.splitlines()), done.stderr
    data = json.loads(done.stdout)
    machines = data["comparison"]["machines"]
    assert [machine["failure"] for machine in machines] == [None] * len(machines)
    errors = data["following"]["error"]
    assert errors["adaptive-svc"] < min(e for name, e in errors.items() if name.startswith("svc"))
    assert data["forgetting"]["left"] < 1e-6 < data["forgetting"]["moved"]
    page = (tmp_path / "shown" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 12
    assert data["report"] == "shown/report.html"
