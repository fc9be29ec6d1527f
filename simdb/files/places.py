"""Places: where outputs go, checked together before anything is read.

Two outputs never have one place, by whatever names, and no output takes the place of a source, a
database or a file that stays as it is.
"""

import glob
import os
import stat
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

from simdb.core.errors import OptionError
from simdb.files.formats import STANDARD_OUTPUT, is_remote, remote_place

PARTIAL = ".partial"
BEFORE = ".before"

# Files that no output replaces, by what one of them is called.
Staying = Mapping[str, Collection[str] | None]


def check_outputs(
    outputs: Mapping[str, str | None],
    sources: Collection[str],
    staying: Staying,
    databases: Collection[str | None] = (),
    *,
    kept: Collection[str] = (),
    in_place: bool = False,
    remedy: str = "--in-place",
) -> None:
    """Raise OptionError unless the outputs of a run, by their options, can be written together.

    `staying`: see `check_staying`.  `kept`: the options whose output holds documents of the
    sources; with `in_place` it may be a source.  `remedy`: what would allow that.
    """
    given = {name: path for name, path in outputs.items() if path is not None}
    check_staying(given.values(), staying, has_folders=True)
    named: dict[Any, str] = {}
    for name, path in given.items():
        for end in [""] if is_special(path) else ["", PARTIAL]:
            other = named.setdefault(_identity(path.rstrip("/") + end), name)
            if other != name:
                raise OptionError(f"{name} and {other} are both {path}; name two outputs")
    files = {name: path for name, path in given.items() if path != STANDARD_OUTPUT}
    if not files:
        return
    read = {_identity(each): each for each in sources if each != STANDARD_OUTPUT}
    for name, path in files.items():
        others = [files[each] for each in files if each != name]
        for other in filter(None, [*databases, *others]):
            is_same = _identity(path) == _identity(other)
            if is_same or _is_within(path, other) or _is_within(other, path):
                raise OptionError(f"{name} {path}: {other} has its place there; name another one")
        apart = {own: each for own, each in read.items() if own != _identity(path)}
        if len(apart) < len(read):
            if name not in kept:
                check_staying([path], {"a source": [path]})
            _check_asked(in_place, f"{name} {path} is a source, which it would replace", remedy)
        for each in apart.values():
            if os.path.lexists(path) and _is_within(path, each):
                _check_asked(in_place, f"{name} {path} is there, in the source {each}", remedy)
            if _is_within(each, path):
                raise OptionError(f"{name} {path}: it is the folder of {each}; name another one")


def _check_asked(in_place: bool, what: str, remedy: str) -> None:
    if not in_place:
        raise OptionError(f"{what}; give {remedy} if that is meant, or name another place")


def check_staying(outputs: Collection[str], staying: Staying, *, has_folders: bool = False) -> None:
    """Raise OptionError for an output that would replace a file that stays as it is.

    `staying`: such files, by what one of them is called.  `has_folders`: they can be folders, of
    which all files stay.
    """
    for path in outputs:
        if path == STANDARD_OUTPUT or is_special(path):
            continue
        for name, files in staying.items():
            for each in files or ():
                is_inside = has_folders and os.path.isfile(path) and _is_within(path, each)
                if is_inside or _identity(path) == _identity(each):
                    raise OptionError(
                        f"{path} is {name}, which stays as it is; name another file for the output"
                    )


def check_place(path: str, *, is_folder: bool = False) -> None:
    """Raise OptionError unless an output can be made at `path`, which may exist.

    A folder is made with all that are missing above it; a file needs its folder.
    """
    if is_remote(path):
        return
    place = os.path.realpath(path)
    above = os.path.dirname(place)
    while is_folder and not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise unwritable(path, f"there is no folder {above}")
    if not is_folder and os.path.isdir(place):
        raise unwritable(path, "it is a folder")
    if not os.access(above, os.W_OK | os.X_OK) and (is_folder or not is_special(place)):
        raise unwritable(path, f"this user may not write into the folder {above}")


def side_files(*paths: str | None) -> list[str]:
    """Return the paths that outputs use: their own, and those before they are complete."""
    files = [path for path in paths if path is not None and path != STANDARD_OUTPUT]
    places = [path.rstrip("/") or path for path in files]
    kept = (glob.glob(f"{glob.escape(place + BEFORE)}.*") for place in places)
    own = (place + end for place in places for end in ("", PARTIAL, BEFORE))
    return [*own, *chain.from_iterable(kept)]


def is_special(place: str) -> bool:
    """Return whether something that is no regular file, such as a pipe, is at this place."""
    return os.path.exists(place) and not os.path.isfile(place)


def unwritable(path: str, reason: str) -> OptionError:
    """Return the error for a place where this user cannot make an output."""
    return OptionError(f"{path} cannot be written: {reason}; name another place for the output")


def _identity(path: str) -> Any:
    """Return what all names of one place have in common: links, hard links and relative names."""
    if is_remote(path):
        return remote_place(path)
    place = os.path.realpath(path)
    try:
        found = os.stat(place)
    except OSError:
        return place
    # What is written to a device such as /dev/null replaces nothing.
    is_device = stat.S_ISCHR(found.st_mode)
    return object() if is_device else (found.st_dev, found.st_ino)


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or lies in it, at any depth."""
    if STANDARD_OUTPUT in (path, folder) or is_remote(path) or is_remote(folder):
        return False
    place, root = os.path.realpath(path), os.path.realpath(folder)
    return place.startswith(os.path.join(root, "")) and not os.path.isfile(root)
