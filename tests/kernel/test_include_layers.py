"""The folders of the kernel's C files: a file includes only from its own folder and those below."""

import re
from pathlib import Path

EXTENSION = Path(__file__).parents[2] / "simdb_ext"
# Each folder, and the folders from which its files may include, besides their own and the top.
FOLDERS = {
    "arrange": [],
    "search": [],
    "sketch/text": [],
    "sketch/hash": [],
    "sketch/weights": [],
    "sketch/minhash": ["sketch/hash"],
    "sketch/overlap": [],
    "sketch/ngrams": ["sketch/hash", "sketch/text"],
    "sketch": [
        "sketch/text",
        "sketch/hash",
        "sketch/weights",
        "sketch/minhash",
        "sketch/overlap",
        "sketch/ngrams",
    ],
}
SOURCES = sorted(path for path in EXTENSION.glob("*/**/*.[ch]"))


def folder_of(path: Path) -> str:
    return str(path.parent.relative_to(EXTENSION))


def included_by(path: Path) -> list[Path]:
    """Return the files that `path` includes, found as the compiler finds them."""
    folders = [path.parent, EXTENSION, EXTENSION / folder_of(path).split("/")[0]]
    names = re.findall(r'^#include "(.+)"$', path.read_text(encoding="ascii"), re.MULTILINE)
    return [next(folder / name for folder in folders if (folder / name).exists()) for name in names]


def test_files_include_nothing_from_a_folder_above_or_beside_their_own() -> None:
    wrong = [
        f"{path.relative_to(EXTENSION)} includes {other.relative_to(EXTENSION)}"
        for path in SOURCES
        for other in included_by(path)
        if folder_of(other) not in {".", folder_of(path), *FOLDERS[folder_of(path)]}
    ]

    assert wrong == []
