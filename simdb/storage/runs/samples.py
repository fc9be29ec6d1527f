"""Samples: pairs of similar documents of a run, from which searches learn how far to probe.

The value of a run is an array float32[k, 4], with a row for each pair: the place of the sampled
document, the similarity of the pair, and what it costs to find either document from the other.  A
run need not have a sample.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import CorruptError
from simdb.storage import codec, layout
from simdb.storage.runs.table import Put

SAMPLED_PAIRS_MAX = 1 << 16
COLUMNS = DOCUMENT, SIMILARITY, FORWARD, BACKWARD = 0, 1, 2, 3
SIMILARITY_MAX = 1.0001  # a cosine of float32 can be slightly above 1

F32 = npt.NDArray[np.float32]


def put_sample(number: int, sample: F32, put: Put) -> None:
    """Write the sample of run `number`."""
    assert sample.dtype == np.float32
    assert sample.shape[1:] == (len(COLUMNS),)
    assert len(sample) <= SAMPLED_PAIRS_MAX
    key = layout.number_key(number)
    put(layout.LEARNT, key, codec.encode_array(layout.LEARNT_KIND, key, sample))


def decode_sample(number: int, value: Any) -> F32:
    """Return the sample of run `number`; CorruptError unless it is a possible one."""
    key = layout.number_key(number)
    flat = codec.decode_array(layout.LEARNT_KIND, key, value, "<f4", verify=True)
    if len(flat) % len(COLUMNS) or len(flat) > len(COLUMNS) * SAMPLED_PAIRS_MAX:
        raise CorruptError(f"the sample of run {number} has {len(flat)} numbers")
    sample = flat.reshape(-1, len(COLUMNS))
    is_possible = np.isfinite(flat).all() and (flat >= 0).all()
    if not is_possible or (sample[:, SIMILARITY] > SIMILARITY_MAX).any():
        raise CorruptError(f"the sample of run {number} has numbers that no pair can have")
    return sample.astype(np.float32)  # a copy, since a later sample may replace the value
