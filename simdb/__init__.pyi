__version__: str
from simdb.core.arrays import Fingerprint as Fingerprint, Fingerprints as Fingerprints
from simdb.core.clusters import (
    ArrayClusters as ArrayClusters,
    ArrayPairs as ArrayPairs,
    Cluster as Cluster,
    Clusters as Clusters,
    PairPositions as PairPositions,
)
from simdb.core.documents import (
    Document as Document,
    DocumentLike as DocumentLike,
    Features as Features,
    Signature as Signature,
    Signatures as Signatures,
)
from simdb.core.errors import (
    BusyError as BusyError,
    ClosedError as ClosedError,
    CorruptError as CorruptError,
    Error as Error,
    ExistsError as ExistsError,
    ForbiddenError as ForbiddenError,
    ForkedError as ForkedError,
    FormatError as FormatError,
    FullError as FullError,
    InputError as InputError,
    NotFoundError as NotFoundError,
    NotPickledError as NotPickledError,
    OptionError as OptionError,
    ReadOnlyError as ReadOnlyError,
    ReplacedError as ReplacedError,
)
from simdb.core.matches import (
    ContainedMatch as ContainedMatch,
    ContainedPair as ContainedPair,
    Match as Match,
    Matches as Matches,
    Pair as Pair,
    PairArrays as PairArrays,
    SharedSpan as SharedSpan,
    Verification as Verification,
)
from simdb.core.memory import Budget as Budget
from simdb.core.options import (
    Bits as Bits,
    Minhash as Minhash,
    Options as Options,
    Search as Search,
    Simhash as Simhash,
    Unit as Unit,
)
from simdb.core.reports import (
    Advice as Advice,
    Compaction as Compaction,
    DifferingBit as DifferingBit,
    Explanation as Explanation,
    FeatureDifference as FeatureDifference,
    Finding as Finding,
    HeaderFill as HeaderFill,
    Plan as Plan,
    Probe as Probe,
    Rebuild as Rebuild,
    ShardedStatistics as ShardedStatistics,
    Statistics as Statistics,
)
from simdb.core.text_sketch import IdfTable as IdfTable, TextSketch as TextSketch
from simdb.database.database import Database as Database, open as open, rebuild as rebuild
from simdb.database.functions import (
    distance as distance,
    find_all as find_all,
    find_clusters as find_clusters,
    fingerprint as fingerprint,
    fingerprints as fingerprints,
    fit_bits as fit_bits,
    fit_idf as fit_idf,
    load as load,
    load_idf as load_idf,
    save_idf as save_idf,
    signature as signature,
    signatures as signatures,
    similarities as similarities,
    similarity as similarity,
    upgrade as upgrade,
)
from simdb.database.search.pairs import Pairs as Pairs
from simdb.database.sharding.shard import shard_of as shard_of
from simdb.database.sharding.sharded_database import (
    ShardedDatabase as ShardedDatabase,
    open_sharded as open_sharded,
)
from simdb.database.sharding.writing import (
    finish_sharded as finish_sharded,
    write_shard as write_shard,
    write_sharded as write_sharded,
)
from simdb.database.snapshot import Snapshot as Snapshot
from simdb.database.transaction import WriteTransaction as WriteTransaction
from simdb.jobs.decontamination.decontaminate import decontaminate as decontaminate
from simdb.jobs.decontamination.result import Decontaminated as Decontaminated, Leak as Leak
from simdb.jobs.deduplication.deduplicate import deduplicate as deduplicate
from simdb.jobs.deduplication.result import Deduplicated as Deduplicated, Parts as Parts
from simdb.plan.calibration import Calibration as Calibration
from simdb.plan.vosh import vosh as vosh
from simdb.sketch.tuning.tune import SketchAdvice as SketchAdvice, tune as tune
from simdb.storage.shards_file import Shard as Shard
