"""Draws docs/images/gallery: the pictures of the scripts in examples/gallery, with few colours.

python docs/draw_gallery.py        # after a change of displays; needs the plot extra
"""

import runpy
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images" / "gallery"

#: Bytes of a picture, and colours to try, from many to few.
MOST, COLOURS = 60_000, (256, 128, 64, 32)


def reduce(source: Path, target: Path) -> None:
    """The same picture with as many colours as fit."""
    with Image.open(source) as picture:
        whole = picture.convert("RGB")
    for colours in COLOURS:
        whole.quantize(colours).save(target, optimize=True)
        if target.stat().st_size < MOST:
            return
    raise ValueError(f"{target.name} has {target.stat().st_size} bytes: draw it smaller")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as drawn:
        for script in sorted((ROOT / "examples" / "gallery").glob("*.py")):
            source = runpy.run_path(str(script))["main"](Path(drawn))
            reduce(source, FOLDER / source.name)
            print(FOLDER / source.name, (FOLDER / source.name).stat().st_size)


if __name__ == "__main__":
    main()
