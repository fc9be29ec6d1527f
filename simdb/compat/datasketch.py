"""datasketch: its classes for finding similar sets, with the index in a simdb database.

    from simdb.compat.datasketch import MinHash, MinHashLSH   # was: from datasketch import ...

    lsh = MinHashLSH(threshold=0.5, num_perm=128)                       # temporary
    lsh = MinHashLSH(threshold=0.5, num_perm=128, path="pages.simdb")   # stays on the disk
    lsh.insert("a", minhash)
    lsh.query(minhash)

The names are `MinHash`, `MinHashLSH`, `sha1_hash32` and `sha1_hash64`.  The index also takes the
`MinHash`, `LeanMinHash` and `WeightedMinHash` that datasketch itself made.  Hash values, bands and
candidates are equal to those of datasketch 2.0.  Where datasketch raises ValueError, this module
raises InputError or OptionError, which are subclasses of ValueError.

`MinHashLSH.database` is a simdb database of MinHash signatures, which offers everything else.  For
each MinHash the index stores the b * r hash values in bands, and repeats the first ones up to a
multiple of 8.  A pickle of an index with a path holds its path and its mode, but no keys.
Unpickling opens this directory, and raises NotFoundError if it does not exist.  To back up or move
such an index, use `lsh.database.copy` or `dump`.  A pickle of a temporary index holds its keys.

These parts of datasketch are missing: storage in Redis, Cassandra and MongoDB, the asynchronous
index, the GPU, `hashfunc` of `MinHashLSH`, and all classes that use no index on the disk.
`hashtables` and `keys` are copies, which change nothing in the index.
"""

from simdb.compat.minhash_lsh import MinHashLSH
from simdb.compat.minwise import MinHash, sha1_hash32, sha1_hash64

__all__ = ["MinHash", "MinHashLSH", "sha1_hash32", "sha1_hash64"]

# Classes of datasketch that keep everything in memory, so that a database would change nothing.
IN_MEMORY = (
    "HNSW", "HyperLogLog", "HyperLogLogPlusPlus", "LeanMinHash", "MinHashLSHBloom",
    "MinHashLSHEnsemble", "MinHashLSHForest", "WeightedMinHash", "WeightedMinHashGenerator",
    "WeightedMinHashLSHForest", "bBitMinHash",
)  # fmt: skip


def __getattr__(name: str) -> object:
    """Raise an error that says where a class of datasketch is; Python would hide AttributeError."""
    if name in IN_MEMORY:
        raise ImportError(
            f"simdb has no {name}, because it uses no database; use `from datasketch import {name}`"
        )
    if name == "WeightedMinHashLSH":
        raise ImportError("simdb has no WeightedMinHashLSH; use MinHashLSH(scheme='weighted')")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
