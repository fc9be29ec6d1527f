"""simdb: an embedded, persistent, transactional database of near-duplicate documents.

Open a directory with `simdb.open`, insert documents, and ask which stored documents are
near-duplicates of a document, which pairs match, and which clusters they form.
"""

from typing import TYPE_CHECKING

from simdb.core import cold
from simdb.core.errors import (
    BusyError,
    ClosedError,
    CorruptError,
    Error,
    ExistsError,
    ForbiddenError,
    ForkedError,
    FormatError,
    FullError,
    InputError,
    NotFoundError,
    NotPickledError,
    OptionError,
    ReadOnlyError,
    ReplacedError,
)

if TYPE_CHECKING:
    from simdb.database.database import Database, open, rebuild
    from simdb.jobs.decontamination.decontaminate import decontaminate
    from simdb.jobs.decontamination.result import Decontaminated, Leak
    from simdb.jobs.deduplication.deduplicate import deduplicate
    from simdb.jobs.deduplication.result import Deduplicated, Parts
    from simdb.database.search.pairs import Pairs
    from simdb.database.snapshot import Snapshot
    from simdb.database.transaction import WriteTransaction
    from simdb.database.functions import (
        distance,
        find_all,
        find_clusters,
        fingerprint,
        fingerprints,
        fit_idf,
        load,
        load_idf,
        save_idf,
        signature,
        signatures,
        similarities,
        similarity,
    )
    from simdb.plan.vosh import vosh
    from simdb.core.clusters import ArrayClusters, ArrayPairs, Cluster, Clusters, PairPositions
    from simdb.core.matches import (
        ContainedMatch,
        ContainedPair,
        Match,
        Matches,
        Pair,
        PairArrays,
        SharedSpan,
        Verification,
    )
    from simdb.core.reports import (
        Advice,
        Compaction,
        DifferingBit,
        Explanation,
        FeatureDifference,
        Finding,
        HeaderFill,
        Plan,
        Probe,
        Rebuild,
        ShardedStatistics,
        Statistics,
    )
    from simdb.core.options import Minhash, Options, Simhash
    from simdb.core.search import Search
    from simdb.core.text_sketch import IdfTable, TextSketch
    from simdb.database.sharding.shard import shard_of
    from simdb.database.sharding.sharded_database import ShardedDatabase, open_sharded
    from simdb.database.sharding.writing import finish_sharded, write_shard, write_sharded
    from simdb.storage.files.shards_file import Shard
    from simdb.sketch.tuning.tune import SketchAdvice, tune
    from simdb.core.arrays import Fingerprint, Fingerprints
    from simdb.core.documents import Document, DocumentLike, Features, Signature, Signatures
else:
    # Each module is loaded when a program first uses one of its names.
    __getattr__ = cold.names(
        __name__,
        {
            "simdb.database.database": "Database open rebuild",
            "simdb.jobs.decontamination.decontaminate": "decontaminate",
            "simdb.jobs.decontamination.result": "Decontaminated Leak",
            "simdb.jobs.deduplication.deduplicate": "deduplicate",
            "simdb.jobs.deduplication.result": "Deduplicated Parts",
            "simdb.core.documents": "Document DocumentLike Features Signature Signatures",
            "simdb.database.search.pairs": "Pairs",
            "simdb.database.snapshot": "Snapshot",
            "simdb.database.transaction": "WriteTransaction",
            "simdb.database.functions": (
                "distance find_all find_clusters fingerprint fingerprints fit_idf load "
                "load_idf save_idf signature signatures similarities similarity"
            ),
            "simdb.plan.vosh": "vosh",
            "simdb.core.options": "Minhash Options Simhash",
            "simdb.core.clusters": "ArrayClusters ArrayPairs Cluster Clusters PairPositions",
            "simdb.core.matches": (
                "ContainedMatch ContainedPair Match Matches Pair PairArrays SharedSpan Verification"
            ),
            "simdb.core.reports": (
                "Plan Probe Advice Compaction DifferingBit Explanation FeatureDifference "
                "Finding HeaderFill Rebuild ShardedStatistics Statistics"
            ),
            "simdb.core.search": "Search",
            "simdb.database.sharding.shard": "shard_of",
            "simdb.database.sharding.sharded_database": "ShardedDatabase open_sharded",
            "simdb.database.sharding.writing": "finish_sharded write_shard write_sharded",
            "simdb.storage.files.shards_file": "Shard",
            "simdb.core.text_sketch": "IdfTable TextSketch",
            "simdb.sketch.tuning.tune": "SketchAdvice tune",
            "simdb.core.arrays": "Fingerprint Fingerprints",
        },
        moved={
            "explain": "simdb.open(None).explain(document=left, other_document=right)",
            "plan": "simdb.open(None, options=options).plan(documents)",
        },
    )

__version__ = "0.2.0"

__all__ = [
    "Advice", "ArrayClusters", "ArrayPairs", "BusyError", "ClosedError", "Cluster", "Clusters",
    "Compaction", "ContainedMatch", "ContainedPair", "CorruptError", "Database", "Decontaminated",
    "Deduplicated", "DifferingBit", "Document", "DocumentLike", "Error", "ExistsError",
    "Explanation", "FeatureDifference", "Features", "Finding", "Fingerprint", "Fingerprints",
    "ForbiddenError", "ForkedError", "FormatError", "FullError", "HeaderFill", "IdfTable",
    "InputError", "Leak", "Match", "Matches", "Minhash", "NotFoundError", "NotPickledError",
    "OptionError", "Options", "Pair", "PairArrays", "PairPositions", "Pairs", "Parts", "Plan",
    "Probe", "ReadOnlyError", "Rebuild", "ReplacedError", "Search", "Shard", "ShardedDatabase",
    "ShardedStatistics", "SharedSpan", "Signature", "Signatures", "Simhash", "SketchAdvice",
    "Snapshot", "Statistics", "TextSketch", "Verification", "WriteTransaction", "__version__",
    "decontaminate", "deduplicate", "distance", "find_all", "find_clusters", "fingerprint",
    "fingerprints", "finish_sharded", "fit_idf", "load", "load_idf", "open", "open_sharded",
    "rebuild", "save_idf", "shard_of", "signature", "signatures", "similarities", "similarity",
    "tune", "vosh", "write_shard", "write_sharded",
]  # fmt: skip


def __dir__() -> list[str]:
    """List the public names, and not the modules in which they are."""
    return sorted(__all__)
