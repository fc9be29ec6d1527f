"""Kernel absence: why the compiled kernel cannot be imported, and what to do about it."""

import os
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES

PACKAGE = "simdb_ext"
MODULE = "_search"  # one of the modules of the kernel: they are built together
SOURCES = ("setup.py", "pyproject.toml")


def why_missing(error: ImportError, root: str, paths: Sequence[str]) -> str:
    """Return the cause of `error`, and the remedy, as a sentence or two.

    `root`: the folder from which simdb was imported.  `paths`: the other folders from which Python
    imports.
    """
    here = _built_in(root)
    if here is not None:
        return f"{here} cannot be loaded ({error}); install simdb again with this Python"
    if all(os.path.exists(os.path.join(root, name)) for name in SOURCES):
        found = [_built_in(os.path.abspath(path)) for path in paths if not _is_same(path, root)]
        installed = next((path for path in found if path is not None), None)
        if installed is not None:
            return (
                f"simdb was imported from its source folder {root}, where the kernel is not built,"
                f" and not from {os.path.dirname(os.path.dirname(installed))}, where simdb is"
                " installed, because Python looks into the working folder first; start Python in"
                f" another folder, or build the kernel here, too: pip install -e {root}"
            )
        return (
            f"simdb was imported from its source folder {root}, where the kernel is not built;"
            f" build it with pip install -e {root}, or install simdb and start Python in another"
            " folder"
        )
    others = _built_for_others(root)
    if others:
        return (
            f"it was built for another Python ({', '.join(others)}); install simdb again with"
            " this one"
        )
    return "it was not built when simdb was installed; install a C compiler and reinstall simdb"


def _built_in(folder: str) -> str | None:
    """Return the file of the kernel for this Python in `folder`; None if there is none."""
    for suffix in EXTENSION_SUFFIXES:
        path = os.path.join(folder, PACKAGE, MODULE + suffix)
        if os.path.exists(path):
            return path
    return None


def _built_for_others(folder: str) -> list[str]:
    """Return the names of the files of the kernel in `folder`, for whatever Python."""
    try:
        names = os.listdir(os.path.join(folder, PACKAGE))
    except OSError:
        return []
    return sorted(
        name for name in names if name.startswith(MODULE + ".") and name.endswith((".so", ".pyd"))
    )


def _is_same(path: str, root: str) -> bool:
    """Whether a folder of `sys.path` is `root`; the empty one is the working folder."""
    return os.path.realpath(path) == os.path.realpath(root)
