"""Routing: which shard an id belongs to, so that every job and every reader agree."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.state.incoming import as_list
from simdb.ground.checks import whole
from simdb.running import kernel
from simdb.storage.files.shards_file import SHARDS_MAX
from simdb.values.arrays import Id


def shard_of(ids: Iterable[Id], shards: int) -> npt.NDArray[np.int64]:
    """Return the number of the shard that each of `ids` belongs to: int64[n], 0 to `shards` - 1.

    It is the hash under which a database stores the id, modulo `shards`: the first 64 bits of
    MurmurHash3_x64_128 with seed 0, unsigned, over a tag and the content of the id; see
    docs/FORMAT.md.  So it is the same in every process, version and job.  The ids 5, "5" and b"5"
    differ.
    """
    check_shards(shards)
    return numbers_of(kernel.encode_ids(as_list(ids, "ids"))[2], shards)


def numbers_of(hashes: npt.NDArray[np.uint64], shards: int) -> npt.NDArray[np.int64]:
    """Return the number of the shard of each id, by the hashes that `kernel.encode_ids` gives."""
    # The highest bits lead the headers of a database's table of ids, so the lowest ones choose.
    return (hashes % np.uint64(shards)).astype(np.int64)


def check_shards(shards: Any) -> None:
    """Raise OptionError unless `shards` can be a number of shards."""
    whole("shards", shards, 1, SHARDS_MAX)
