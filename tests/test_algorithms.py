"""docs/ALGORITHMS.md names files and names that exist."""

import re
from pathlib import Path

from over import over

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "ALGORITHMS.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:simdb|simdb_ext|tests|tools|docs)/[\w/]*(?:\.\w+)?)`", TEXT)))
NAMES = re.findall(r"`([\w.]+)` in `((?:simdb|simdb_ext)/[\w./]*)`", TEXT)


def source(path: str) -> str:
    """Return the text of a file, or of all files of a folder."""
    place = ROOT / path
    files = sorted(place.rglob("*.[chp]*")) if place.is_dir() else [place]
    return "\n".join(each.read_text(encoding="utf-8") for each in files if each.is_file())


@over("path", PATHS)
def test_every_path_exists(path: str) -> None:
    place = ROOT / path

    assert place.is_dir() if path.endswith("/") else place.is_file()


@over(("name", "path"), NAMES)
def test_every_name_is_in_its_file(name: str, path: str) -> None:
    text = source(path)

    assert all(re.search(rf"\b{part}\b", text) for part in name.split("."))
