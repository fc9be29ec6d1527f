"""Storage choice: the arguments of datasketch that say how and where an index is stored."""

import os
from typing import Any

from simdb import database
from simdb.ground.choices import DurabilityName, ModeName
from simdb.ground.errors import NotFoundError, OptionError
from simdb.settings.options import Options
from simdb.values.arrays import describe


def check_storage(storage_config: Any, hashfunc: Any) -> None:
    """Raise OptionError for a storage or a hash of bands that simdb does not have."""
    if storage_config is not None:
        kind = storage_config.get("type") if isinstance(storage_config, dict) else storage_config
        if kind != "dict":
            raise OptionError(
                f"storage_config has type {kind!r}, but simdb stores the index itself; leave out"
                " storage_config=, and give path= for an index that stays on the disk"
            )
    if hashfunc is not None:
        raise OptionError(
            f"hashfunc= is {describe(hashfunc)}, but simdb keeps 8 bytes of each band and needs no"
            " shorter ones; leave it out"
        )


def opened_at(
    path: str | os.PathLike[str], mode: ModeName, durability: DurabilityName, options: Options
) -> database.Database:
    """Open the database with its own options, or create a new one with `options`."""
    if mode != "x":
        try:
            return database.open(path, "r" if mode == "r" else "w", durability=durability)
        except NotFoundError:
            if mode != "c":
                raise
    return database.open(path, mode, options=options, durability=durability)
