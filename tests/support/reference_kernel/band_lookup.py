"""Band look-up: finds the documents with the key of one signature in any band, in numpy.

`simdb_ext/_search.pyi` has the contract.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def lookup_bands(
    bands: Sequence[Any], keys: npt.NDArray[np.uint64], most: int
) -> npt.NDArray[np.uint32] | None:
    """Return the ordinals uint32[n] of documents with one of these keys, one key in each band."""
    if len(keys) != len(bands):
        raise ValueError(f"there are {len(keys)} keys but {len(bands)} bands")
    found = [
        ordinal
        for tables, key in zip(bands, keys.tolist(), strict=True)
        for ordinal, _ in tables.lookup_one(key, 0, 0, False)
    ]
    return np.unique(np.array(found, np.uint32)) if len(found) <= most else None
