"""datasketch: its classes for finding similar sets, with the index in a simdb database.

    from simdb.compat.datasketch import MinHash, MinHashLSH   # was: from datasketch import ...

    lsh = MinHashLSH(threshold=0.5, num_perm=128)                       # temporary
    lsh = MinHashLSH(threshold=0.5, num_perm=128, path="pages.simdb")   # stays on the disk
    lsh.insert("a", minhash)
    lsh.query(minhash)

The names are `MinHash`, `LeanMinHash`, `WeightedMinHash`, `WeightedMinHashGenerator`, `MinHashLSH`
(also as `WeightedMinHashLSH`), `MinHashLSHForest` (`WeightedMinHashLSHForest`),
`MinHashLSHEnsemble`, `sha1_hash32` and `sha1_hash64`.  Hash values, bands and candidates are equal
to those of datasketch 2.0.  Where datasketch raises ValueError, this module raises InputError or
OptionError, which are subclasses of ValueError.

`MinHashLSH.database` is a simdb database of MinHash signatures, which offers everything else.  For
each MinHash the index stores the b * r hash values in bands, and repeats the first ones up to a
multiple of 8.  A pickle of an index with a path holds its path and its mode, but no keys.
Unpickling opens this directory, and raises NotFoundError if it does not exist.  To back up or move
such an index, use `lsh.database.copy` or `dump`.  A pickle of a temporary index holds its keys.

These parts of datasketch are missing: storage in Redis, Cassandra and MongoDB, the asynchronous
index, the GPU, `hashfunc` of `MinHashLSH`, `MinHashLSHBloom`, `bBitMinHash`, `HNSW` and
HyperLogLog.  `hashtables` and `keys` are copies, which change nothing in the index.
"""

from simdb.compat.lean_minhash import LeanMinHash
from simdb.compat.lsh_ensemble import MinHashLSHEnsemble
from simdb.compat.lsh_forest import MinHashLSHForest
from simdb.compat.minhash_lsh import MinHashLSH
from simdb.compat.minwise import MinHash, sha1_hash32, sha1_hash64
from simdb.compat.weighted_minhash import WeightedMinHash, WeightedMinHashGenerator

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "sha1_hash32",
    "sha1_hash64",
]
