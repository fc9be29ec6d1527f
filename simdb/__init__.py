"""simdb: an embedded, persistent, transactional database of near-duplicate documents.

Open a directory with `simdb.open`, insert documents, and ask which stored documents are
near-duplicates of a document, which pairs match, and which clusters they form.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold
from simdb.ground.errors import (
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
    from simdb.database import Database, open, rebuild
    from simdb.decontamination.decontaminate import decontaminate
    from simdb.decontamination.result import Decontaminated, Leak
    from simdb.deduplication.deduplicate import deduplicate
    from simdb.deduplication.result import Deduplicated, Parts
    from simdb.engine.search.pairs import Pairs
    from simdb.engine.snapshot import Snapshot
    from simdb.engine.transaction import WriteTransaction
    from simdb.functions import (
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
    from simdb.index.vosh import vosh
    from simdb.results.clusters import ArrayClusters, ArrayPairs, Cluster, Clusters, PairPositions
    from simdb.results.matches import (
        ContainedMatch,
        ContainedPair,
        Match,
        Matches,
        Pair,
        PairArrays,
        SharedSpan,
        Verification,
    )
    from simdb.results.reports import (
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
    from simdb.settings.options import Minhash, Options, Simhash
    from simdb.settings.search import Search
    from simdb.settings.text_sketch import IdfTable, TextSketch
    from simdb.sharding.shard import shard_of
    from simdb.sharding.sharded_database import ShardedDatabase, open_sharded
    from simdb.sharding.writing import finish_sharded, write_shard, write_sharded
    from simdb.storage.files.shards_file import Shard
    from simdb.tuning.tune import SketchAdvice, tune
    from simdb.values.arrays import Fingerprint, Fingerprints
    from simdb.values.documents import Document, DocumentLike, Features, Signature, Signatures
else:
    # Each module is loaded when a program first uses one of its names.
    __getattr__ = cold.names(
        __name__,
        {
            "simdb.database": "Database open rebuild",
            "simdb.decontamination.decontaminate": "decontaminate",
            "simdb.decontamination.result": "Decontaminated Leak",
            "simdb.deduplication.deduplicate": "deduplicate",
            "simdb.deduplication.result": "Deduplicated Parts",
            "simdb.values.documents": "Document DocumentLike Features Signature Signatures",
            "simdb.engine.search.pairs": "Pairs",
            "simdb.engine.snapshot": "Snapshot",
            "simdb.engine.transaction": "WriteTransaction",
            "simdb.functions": (
                "distance find_all find_clusters fingerprint fingerprints fit_idf load "
                "load_idf save_idf signature signatures similarities similarity"
            ),
            "simdb.index.vosh": "vosh",
            "simdb.settings.options": "Minhash Options Simhash",
            "simdb.results.clusters": "ArrayClusters ArrayPairs Cluster Clusters PairPositions",
            "simdb.results.matches": (
                "ContainedMatch ContainedPair Match Matches Pair PairArrays SharedSpan Verification"
            ),
            "simdb.results.reports": (
                "Plan Probe Advice Compaction DifferingBit Explanation FeatureDifference "
                "Finding HeaderFill Rebuild ShardedStatistics Statistics"
            ),
            "simdb.settings.search": "Search",
            "simdb.sharding.shard": "shard_of",
            "simdb.sharding.sharded_database": "ShardedDatabase open_sharded",
            "simdb.sharding.writing": "finish_sharded write_shard write_sharded",
            "simdb.storage.files.shards_file": "Shard",
            "simdb.settings.text_sketch": "IdfTable TextSketch",
            "simdb.tuning.tune": "SketchAdvice tune",
            "simdb.values.arrays": "Fingerprint Fingerprints",
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
