"""Fingerprints, signatures, similarities, IDF tables and plans without a database."""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.checks import flag, instance
from simdb.engine import explain as explaining
from simdb.engine import maintenance
from simdb.engine.clusters import arrays
from simdb.engine.search.planning import plan_without_database
from simdb.engine.search.question import Question
from simdb.errors import InputError, OptionError
from simdb.idf import IdfTable
from simdb.index.keying import bands_of, settled
from simdb.minhash import Minhash
from simdb.options import Options, Simhash
from simdb.plans import Plan
from simdb.positions import ArrayClusters, ArrayPairs
from simdb.signatures import Signature, Signatures, check_comparable, estimates
from simdb.sketch.fitting import fit
from simdb.sketch.minhash_signer import MinHashSigner
from simdb.sketch.minhash_sketcher import MinHashSketcher
from simdb.sketch.sketcher import Sketcher
from simdb.storage.files.idf_file import read_idf, write_idf
from simdb.text_sketch import TextSketch
from simdb.values import Fingerprint, Fingerprints, check_bits, describe

if TYPE_CHECKING:
    from simdb.reports import Explanation

Kind = TypeVar("Kind", Simhash, Minhash)


def fingerprint(
    document: Any, sketch: Simhash | None = None, *, errors: str = "strict"
) -> Fingerprint:
    """The fingerprint and weights of one text, list of tokens, `Features` or vector."""
    return fingerprints([document], sketch, errors=errors)[0]


def fingerprints(
    documents: Iterable[Any], sketch: Simhash | None = None, *, errors: str = "strict"
) -> Fingerprints:
    """Fingerprints of many documents of one kind: `.bits` uint64[n], `.weights` float32[n, d].

    Vectors may be the rows of one array, float[n, d], or of a CSR matrix.
    """
    sketch = _sketch_of(sketch, Simhash)
    sketcher = Sketcher(sketch, allowed=[sketch.tokeniser])
    return sketcher.fingerprints(documents, errors=errors)


def signature(document: Any, sketch: Minhash | None = None, *, errors: str = "strict") -> Signature:
    """The MinHash signature of one text, list of tokens or `Features`."""
    return signatures([document], sketch, errors=errors)[0]


def signatures(
    documents: Iterable[Any], sketch: Minhash | None = None, *, errors: str = "strict"
) -> Signatures:
    """MinHash signatures of many documents: `.minima` uint32 or uint8[n, permutations].

    `sketch`: `Minhash()` if not given.  Signatures that are ready may stand among the documents, if
    they were made by the same sketch.
    """
    sketch = _sketch_of(sketch, Minhash)
    return MinHashSigner(sketch, allowed=[sketch.tokeniser]).sign(documents, errors=errors)


def fit_idf(
    documents: Iterable[Any],
    sketch: TextSketch | None = None,
    *,
    features_max: int | None = None,
    errors: str = "strict",
    progress: Callable[[int], None] | None = None,
) -> IdfTable:
    """The IDF table of many texts or lists of tokens: how much each of their features weighs.

    `sketch`: what a feature is, `Simhash()` if not given; the sketch that the table is for has the
    same options but for the weights.  `documents` are taken from an iterator a few thousand at a
    time; 12 to 24 bytes of memory hold each distinct feature.  `features_max`: keep only so many,
    the most frequent ones.  `progress(done)` is called with the number of documents read.
    """
    sketch = Simhash() if sketch is None else sketch
    instance("sketch", sketch, TextSketch, "simdb.Simhash() or simdb.Minhash()")
    if sketch.unit == "moz":
        raise OptionError("unit='moz' has no weights of features; use another sketch for fit_idf")
    settings = sketch.feature_settings
    return fit(
        documents,
        Sketcher(Simhash(**settings), allowed=[sketch.tokeniser]),
        settings,
        features_max=features_max,
        errors=errors,
        progress=progress,
    )


def save_idf(table: IdfTable, path: str | os.PathLike[str]) -> None:
    """Write an IDF table to the file `path`; a file that is there is replaced at the end."""
    place = os.fsdecode(path)
    temporary = f"{place}.{os.getpid()}-{threading.get_ident()}.new"
    write_idf(place, table, temporary=temporary, mode=0o666)


def load_idf(path: str | os.PathLike[str]) -> IdfTable:
    """The IDF table in a file that `save_idf` wrote.

    It is read in place, so processes that load the same file share its memory.  NotFoundError,
    FormatError where it is another kind of file, CorruptError where it is damaged.
    """
    table, _ = read_idf(os.fsdecode(path), is_verified=True)
    return table


def load(
    source: Any, path: str | os.PathLike[str], *, progress: Callable[[int], None] | None = None
) -> int:
    """Make the new database `path` from a dump, as `Database.dump` wrote it.

    `source`: a path or a binary stream.  The database is the dumped one but for its tables, which
    are made anew, and the numbers of its documents, which have no gaps.  It appears when it is
    whole and on the disk.  Returns the number of documents; `progress(done)` is called with it.
    ExistsError when there is something at `path`, FormatError for what is no dump or one of a newer
    version, CorruptError, which says where, for one that is damaged or cut off.
    """
    return maintenance.load.load(source, path, progress)


def distance(left: Fingerprint | int, right: Fingerprint | int) -> int:
    """Hamming distance: in how many of the 64 bits two fingerprints differ."""
    return (_bits(left) ^ _bits(right)).bit_count()


def similarity(left: Fingerprint | Signature, right: Fingerprint | Signature) -> float:
    """Estimated similarity of two documents: by weights of fingerprints, or by signatures.

    Of fingerprints it is the cosine, of signatures that of Jaccard: the size of the intersection by
    that of the union (of the sums of the lesser and the greater weights, where features have
    weights).
    """
    if isinstance(left, Signature) and isinstance(right, Signature):
        both = Signatures(right.minima[None], right.sketch, np.array([right.is_empty]))
        return float(similarities(left, both)[0])
    first, second = _weights(left), _weights(right)
    shared = min(len(first), len(second))
    first, second = first[:shared].astype(np.float64), second[:shared].astype(np.float64)
    norms = float(np.sqrt(first @ first) * np.sqrt(second @ second))
    return float(first @ second) / norms if norms else 0.0


def similarities(left: Signature | Signatures, right: Signatures) -> npt.NDArray[np.float32]:
    """Estimated similarity of each of `right` to `left`, a signature or as many: float32[n]."""
    for side, kinds in ((left, Signature | Signatures), (right, Signatures)):
        if not isinstance(side, kinds):
            raise InputError(
                "similarities needs a signature or many, and many: simdb.signature(...),"
                f" simdb.signatures([...]), not {describe(side)}"
            )
    if not isinstance(left, Signature) and len(left) != len(right):
        raise InputError(f"{len(left)} signatures do not pair with {len(right)}")
    check_comparable(left.sketch, right.sketch)
    minima = left.minima[None] if isinstance(left, Signature) else left.minima
    measured = estimates(kernel.agreements(minima, right.minima), right.sketch)
    return np.where(right.is_empty | left.is_empty, np.float32(0), measured)


def find_all(fingerprints: Any, blocks: int, distance: int) -> ArrayPairs:
    """Every pair of `fingerprints` that differ in at most `distance` bits, by position; exact.

    `fingerprints`: uint64[n], `Fingerprints` (those without features match nothing), or many ints.
    Each position takes part: equal fingerprints are pairs at distance 0, and k copies make
    k (k - 1) / 2 of them.  `blocks` > `distance`, or OptionError: into so many blocks of bits at
    most a fingerprint is cut; the tables of no more blocks that find the pairs soonest are used,
    and the pairs are the same with all.  Memory is 24 bytes for each fingerprint, some scratch and
    what the caller keeps: `.chunks()` streams, `.left`, `.right` and `.distance` gather.  The array
    is copied, so it may change before the pairs are read.
    """
    return ArrayPairs(arrays.stream_pairs(fingerprints, blocks=blocks, distance=distance))


def find_clusters(fingerprints: Any, blocks: int, distance: int) -> ArrayClusters:
    """The connected components of those pairs: arrays of positions, two and more in each.

    Arguments are those of `find_all`.  Equal fingerprints are linked to each other once and never
    paired, so any number of copies costs no more than sorting them.
    """
    return arrays.find_clusters(fingerprints, blocks=blocks, distance=distance)


def explain(
    left: Any,
    right: Any,
    sketch: Simhash | Minhash | None = None,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    errors: str = "strict",
) -> "Explanation":
    """Why two documents match or not, and which of their features moved which bits.

    As in a database with the usual options and this `sketch`, but from weights that are not rounded
    for storing.  They match if `similarity` and `distance` are as asked.  Documents are of any
    kind; features are told of those that have some.
    """
    sketch = Simhash() if sketch is None else sketch
    instance("sketch", sketch, TextSketch, "simdb.Simhash() or simdb.Minhash()")
    options, question = Options(sketch=sketch), Question(similarity, distance)
    if isinstance(sketch, Minhash):
        reasons = explaining.signatures
        minhash_sketcher = MinHashSketcher(sketch, allowed=[sketch.tokeniser])
        given_signature = reasons.given_signature
        first, second = (given_signature(minhash_sketcher, each, errors) for each in (left, right))
        criterion = question.criterion(options, is_weighted=True)
        return reasons.explain(first, second, bands_of(settled(options)), criterion)
    sketcher = Sketcher(sketch, allowed=[sketch.tokeniser])
    given_side = explaining.fingerprints.given_side
    sides = [given_side(sketcher, document, errors) for document in (left, right)]
    one, other = (replace(side, measured=side.weights) for side in sides)
    is_weighted = one.has_weights and other.has_weights
    criterion = question.criterion(options, is_weighted=is_weighted)
    return explaining.fingerprints.explain(one, other, options=options, criterion=criterion)


def plan(
    documents: float,
    options: Options | None = None,
    *,
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    method: str | None = None,
    has_weights: bool = True,
) -> Plan:
    """How a database of so many documents would answer a query, and why; none is needed.

    `options`: those of the database, `Options()` if not given; the criterion as for
    `Database.query`.  `has_weights`: whether queries and documents have weights, as all have but
    ready fingerprints.  Without a calibration similar documents are taken to differ as the prior
    has it, and costs are those of one fast machine.  Where one database does not hold so many,
    they are taken to lie in several, all of which are asked.
    """
    options = Options() if options is None else options
    instance("options", options, Options, "simdb.Options()")
    flag("has_weights", has_weights)
    question = Question(similarity, distance, recall, method)
    return plan_without_database(options, documents, question, has_weights=has_weights)


def _sketch_of(sketch: Any, kind: type[Kind]) -> Kind:
    """The sketch that was given, or the usual one of its kind."""
    sketch = kind() if sketch is None else sketch
    instance("sketch", sketch, kind, f"simdb.{kind.__name__}()")
    return cast("Kind", sketch)


def _bits(value: Fingerprint | int) -> int:
    if isinstance(value, Fingerprint):
        return value.bits
    if isinstance(value, np.integer):
        value = int(value)
    check_bits(value)
    return value


def _weights(value: Fingerprint | Signature) -> npt.NDArray[np.float32]:
    if not isinstance(value, Fingerprint) or value.weights is None:
        raise InputError(
            "similarity needs two fingerprints with weights, as simdb.fingerprint makes, or two"
            " signatures"
        )
    return value.weights
