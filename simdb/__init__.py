"""simdb: an embedded, persistent, transactional database of near-duplicate documents.

Open a directory with `simdb.open`, insert documents, and ask which stored documents are
near-duplicates of a document, which pairs match, and which clusters they form.
"""

from typing import TYPE_CHECKING

from simdb import cold
from simdb.clusters import Cluster, Clusters
from simdb.database import Database, open
from simdb.documents import Document
from simdb.engine.search.pairs import Pairs
from simdb.engine.snapshot import Snapshot
from simdb.engine.transaction import WriteTransaction
from simdb.errors import (
    BusyError,
    ClosedError,
    CorruptError,
    Error,
    ExistsError,
    ForkedError,
    FormatError,
    FullError,
    InputError,
    NotFoundError,
    OptionError,
    ReadOnlyError,
    ReplacedError,
)
from simdb.functions import (
    distance,
    explain,
    find_all,
    find_clusters,
    fingerprint,
    fingerprints,
    fit_idf,
    load,
    load_idf,
    plan,
    save_idf,
    signature,
    signatures,
    similarities,
    similarity,
)
from simdb.idf import IdfTable
from simdb.index.vosh import vosh
from simdb.minhash import Minhash
from simdb.options import Options, Simhash
from simdb.plans import Plan, Probe
from simdb.positions import ArrayClusters, ArrayPairs, PairPositions
from simdb.signatures import Signature, Signatures
from simdb.text_sketch import TextSketch
from simdb.values import (
    Features,
    Fingerprint,
    Fingerprints,
    Match,
    Matches,
    Pair,
    PairArrays,
)

if TYPE_CHECKING:
    from simdb.reports import (
        Advice,
        Compaction,
        DifferingBit,
        Explanation,
        FeatureDifference,
        Finding,
        Rebuild,
        Statistics,
    )
else:
    # Few programs name these, so their module is loaded when one of them is first named.
    __getattr__ = cold.names(
        __name__,
        "simdb.reports",
        [
            "Advice",
            "Compaction",
            "DifferingBit",
            "Explanation",
            "FeatureDifference",
            "Finding",
            "Rebuild",
            "Statistics",
        ],
    )

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "ArrayClusters",
    "ArrayPairs",
    "BusyError",
    "ClosedError",
    "Cluster",
    "Clusters",
    "Compaction",
    "CorruptError",
    "Database",
    "DifferingBit",
    "Document",
    "Error",
    "ExistsError",
    "Explanation",
    "FeatureDifference",
    "Features",
    "Finding",
    "Fingerprint",
    "Fingerprints",
    "ForkedError",
    "FormatError",
    "FullError",
    "IdfTable",
    "InputError",
    "Match",
    "Matches",
    "Minhash",
    "NotFoundError",
    "OptionError",
    "Options",
    "Pair",
    "PairArrays",
    "PairPositions",
    "Pairs",
    "Plan",
    "Probe",
    "ReadOnlyError",
    "Rebuild",
    "ReplacedError",
    "Signature",
    "Signatures",
    "Simhash",
    "Snapshot",
    "Statistics",
    "TextSketch",
    "WriteTransaction",
    "__version__",
    "distance",
    "explain",
    "find_all",
    "find_clusters",
    "fingerprint",
    "fingerprints",
    "fit_idf",
    "load",
    "load_idf",
    "open",
    "plan",
    "save_idf",
    "signature",
    "signatures",
    "similarities",
    "similarity",
    "vosh",
]


def __dir__() -> list[str]:
    """List all names, with those that are not loaded yet."""
    return sorted({*globals(), *__all__})
