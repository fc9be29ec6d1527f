"""One environment for each directory and process, shared by all who open it here."""

import os
import threading

from simdb.errors import OptionError
from simdb.storage.environment import Environment
from simdb.storage.place import DATA_FILE

_lock = threading.Lock()
_open: dict[tuple[int, int], Environment] = {}


def acquire(path: str, *, is_read_only: bool, durability: str, map_bytes: int) -> Environment:
    """The environment of the directory `path`, opened if this process has not done so yet.

    One that was opened for reading is opened anew when somebody wants to write.  OptionError when
    it is open with another durability, which cannot be changed for one user alone.
    """
    with _lock:
        state = os.stat(path)
        place = (state.st_dev, state.st_ino)
        environment = _open.get(place)
        if environment is None or not _is_in_place(environment, path):
            environment = Environment(
                os.path.abspath(path),
                is_read_only=is_read_only,
                durability=durability,
                map_bytes=map_bytes,
            )
            _open[place] = environment
        elif not is_read_only:
            if environment.is_read_only:
                environment.durability = durability
                environment.reopen(None, is_read_only=False)
            elif environment.durability != durability:
                raise OptionError(
                    f"{path} is open in this process with durability={environment.durability!r};"
                    f" close it there, or open it with the same"
                )
        environment.reference_count += 1
        return environment


def release(environment: Environment) -> None:
    """Give an environment back; the last one to do so closes it."""
    with _lock:
        if environment.reference_count > 1:
            environment.reference_count -= 1
            return
        try:
            environment.close()
        finally:
            if not environment.is_open:
                environment.reference_count = 0
                for place, each in list(_open.items()):
                    if each is environment:
                        del _open[place]


def _is_in_place(environment: Environment, path: str) -> bool:
    """Whether it has the data file open that is there, and not one of a directory removed since."""
    try:
        return os.path.samestat(environment.data_file, os.stat(os.path.join(path, DATA_FILE)))
    except FileNotFoundError:
        return False


def _forget_in_child() -> None:
    """After a fork the child has no environment open, whatever its memory says."""
    global _lock
    _lock = threading.Lock()
    for environment in _open.values():
        environment.leave_to_parent()
    _open.clear()


os.register_at_fork(after_in_child=_forget_in_child)
