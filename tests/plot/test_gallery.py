"""The scripts of the gallery run, on little data; its page shows what they draw."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
PICTURES = ROOT / "docs" / "images" / "gallery"

#: Little data for each.
SMALL = {
    "a_bayesian_prediction": {"n_columns": 4},
    "a_boundary_that_turns": {"n_rows": 120, "frames": 2},
    "a_sensor_that_drifts": {"n_days": 90},
    "choosing_c": {"n_rows": 50},
    "electricity_prices": {"n_rows": 1200},
    "forgetting_a_customer": {"count": 60},
    "how_near_the_optimum": {"n_rows": 600},
    "margins_and_tubes": {"resolution": 40},
    "medical_costs": {"n_columns": 3},
    "searching_c_and_gamma": {"n_rows": 150},
    "which_columns_depend": {"n_columns": 5},
}

pytest.importorskip("matplotlib.pyplot")
Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs(script, tmp_path, monkeypatch):
    monkeypatch.delenv("LINDERO_DATA", raising=False)
    main = runpy.run_path(str(script))["main"]
    assert set(SMALL[script.stem]) <= set(inspect.signature(main).parameters)
    path = main(tmp_path / "new", **SMALL[script.stem])
    assert path == tmp_path / "new" / f"{script.stem}.png"
    with Image.open(path) as picture:
        assert min(picture.size) > 200
        assert len(picture.convert("RGB").getcolors(10**6)) > 20  # something is drawn


def test_prices_say_where_they_come_from(real_data, monkeypatch):
    script = runpy.run_path(str(ROOT / "examples" / "gallery" / "electricity_prices.py"))
    monkeypatch.setenv("LINDERO_DATA", str(real_data("stream_elec2.csv.gz").parent))
    X, y, source = script["read_prices"](300)
    assert (X.shape, set(y), source) == (
        (300, 5), {"up", "down"}, "Electricity prices in New South Wales"
    )  # fmt: skip
    monkeypatch.delenv("LINDERO_DATA")
    X, y, source = script["read_prices"](300)
    assert X.shape == (300, 5)
    assert "is not here" in source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_page_shows_every_picture_and_names_its_script(script):
    assert f"](images/gallery/{script.stem}.png)" in PAGE
    assert f"`{script.name}`: `" in PAGE
    assert 5_000 < (PICTURES / f"{script.stem}.png").stat().st_size < 60_000


def test_the_page_names_displays_that_the_scripts_use():
    parts = re.findall(r"^`(\w+\.py)`: (.*?)[.,]\s", PAGE, re.M)
    assert {name for name, _ in parts} == {script.name for script in SCRIPTS}
    for name, said in parts:
        source = (ROOT / "examples" / "gallery" / name).read_text(encoding="utf-8")
        for display in re.findall(r"`(\w+Display)`", said):
            assert f"{display}.from_" in source


def test_every_display_is_in_the_gallery_or_among_the_pictures():
    import lindero.plot

    texts = [script.read_text(encoding="utf-8") for script in SCRIPTS]
    texts.append((ROOT / "examples" / "pictures.py").read_text(encoding="utf-8"))
    everything = "\n".join(texts)
    displays = [name for name in lindero.plot.__all__ if name.endswith("Display")]
    # A waterfall is what ExplanationDisplay draws of one row.
    missing = [name for name in displays if f"{name}.from_" not in everything]
    assert missing == ["WaterfallDisplay"]
