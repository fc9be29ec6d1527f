"""Calibration: the differences of similar documents of this collection, learnt from a sample.

Some stored documents, or documents that the caller gives, are compared with all fingerprints, and
near documents are measured by their volatility vectors.  From these pairs the planner reads how far
a query must go for a recall.

The speed of this machine is measured as well.  A table of random fingerprints, larger than most
caches, is probed and scanned in the kernel, with new queries each time.  Every workload is fixed
and a few milliseconds long, and its shortest time counts, as other processes can only lengthen it.
`Delays` are differences of such times, kept within sane bounds.  For example, the cost of a header
is the difference between probing for one header and for many.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simdb import plan
from simdb.core import kernel
from simdb.core.arrays import WEIGHTED, Sketches, offsets_of
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS, leading_masks
from simdb.core.checks import shown, whole
from simdb.core.dtypes import F32, U8, U32
from simdb.core.errors import CorruptError, FormatError, OptionError
from simdb.core.values import dataclass, fields
from simdb.core.vector_form import unpack
from simdb.database.search.method import levels_of
from simdb.database.state.documents import stored_sketches
from simdb.database.state.incoming import sketch_queries
from simdb.database.state.state import State
from simdb.database.state.store import Store
from simdb.database.write.commit import commit
from simdb.plan import volatility
from simdb.storage import Manifest, layout

# Documents of cosine 0.8 differ in 13 bits on average, and rarely in more than 20.
NEAR_DISTANCE = 20
# Pairs less similar than this are not near-duplicates, unless their fingerprints are near.
SIMILARITY_LEAST = 0.75
PAIRS_MAX = 8192
SEED_MAX = 2**64 - 1
PART_QUERIES = 64
COUNT_LEAST = 1000
COMPARISONS = 1 << 32
# Smaller collections are fast to search without a calibration.
DUE_DOCUMENTS = 1000
DUE_SHARE = 0.25
# Sizes of the workloads that are timed.
REPEATS = 5
DEPTH = 22  # log2 of the entries of the table
QUERIES = 1 << 12
SCANS = 4
VECTORS = 1 << 17
SORTED = 1 << 18
VECTOR_BYTES = 64
HEADER_ENTRIES, MANY_ENTRIES = 2, 256
# Levels of Laplace weights are exponential, with this mean; theta makes some dozens of headers.
LEVEL_MEAN = 45.0
THETA = 24
CAP = 1 << 12
# Times outside these factors of the default come from a disturbance or a clock that stood still.
# An emulated processor is up to a few hundred times slower.
LEAST, MOST = 1 / 20, 1000


@dataclass(frozen=True, slots=True)
class PairSample:
    """A sample of pairs: their similarities, and the weights of both documents as stored."""

    pairs: plan.SampledPairs
    similarities: F32
    left: F32
    right: F32


def is_worth(store: Store, state: State, manifest: Manifest) -> bool:
    """Return whether calibrating is worth its time in this state.

    It is if the documents inserted since the last calibration number at least `DUE_DOCUMENTS`, and
    `DUE_SHARE` of the covered ones.  A database with cross-polytope tables gets no first
    calibration, because it needs none.
    """
    if store.options.is_minhash or not store.has_similarities:
        return False
    weighted = manifest.document_count - manifest.empty_count - manifest.bare_count
    if state.calibration is None:
        return not store.options.polytopes and weighted >= DUE_DOCUMENTS
    least = max(DUE_DOCUMENTS, int(DUE_SHARE * state.calibration.document_count))
    return min(state.next_ordinal - state.view.uncovered_from, weighted) >= least


def covered_of(stored: dict[str, Any], manifest: Manifest) -> int:
    """Return the ordinal below which a stored calibration covers all documents."""
    return min(plan.covered_by(stored), manifest.next_ordinal)


def covering(stored: dict[str, Any], covered: int) -> dict[str, Any]:
    """Return a stored calibration after a change of ordinals, to cover those below `covered`."""
    return {**stored, "covered": covered}


def calibrate(
    store: Store, sample: Any, seed: int, *, noise: float | None, errors: str
) -> plan.Calibration:
    """Learn from a sample, and store the calibration; see `Database.calibrate`."""
    if store.options.is_minhash:
        raise OptionError(
            "calibrate works only with fingerprints; this database stores MinHash signatures, whose"
            " recall follows from the similarity alone"
        )
    if store.options.is_hashes:
        raise OptionError(
            "calibrate works only with fingerprints of texts, tokens and vectors; the recall of"
            " hashes follows from their distance alone"
        )
    if noise is not None:
        return _by_hand(store, sample, noise)
    count, given = None, None
    if sample is None:
        pass
    elif isinstance(sample, int | np.integer) and not isinstance(sample, bool):
        if sample < 1:
            raise OptionError(
                f"sample must be a whole number of 1 or more, or documents, got {sample!r}"
            )
        count = int(sample)
    else:
        given = sketch_queries(store.sketcher, sample, errors)
    if not store.width and given is None:
        raise OptionError(
            "this database stores no volatility vectors to learn from; give documents like your"
            " queries as sample=, or create a database with Simhash(store_volatility=True)"
        )
    return _calibrate(store, count, given, seed)


def _by_hand(store: Store, sample: Any, noise: float) -> plan.Calibration:
    """Store the noise that the caller gives, with the speed of this machine."""
    if sample is not None:
        raise OptionError("calibrate takes either sample= or noise=, not both")
    if not plan.is_noise(noise):
        raise OptionError(
            f"noise must be a number from {plan.NOISE_LEAST:g} to {plan.NOISE_MOST:g}, got"
            f" {shown(noise)}; it is the standard deviation of the change of a projection, over"
            " that of the projection; if it is larger or not known, give documents like your"
            " queries as sample="
        )
    with store.state() as state:
        count, covered = state.counts.document_count, state.next_ordinal
    nothing = plan.SampledPairs(
        np.empty(0, np.uint64), np.empty((0, FINGERPRINT_BITS), np.uint8), np.empty(0, np.uint64)
    )
    made = plan.Calibration(
        volatility.prior(float(noise)), nothing, np.empty(0, np.float32), np.empty(0, np.bool_),
        count, 0, covered, measured_delays(), float(noise),
    )  # fmt: skip
    put_calibration(store, plan.encode_calibration(made))
    return made


def calibrate_if_due(store: Store) -> None:
    """Calibrate if enough documents are new since the last calibration; see `is_worth`."""
    with store.state() as state:
        is_due = is_worth(store, state, store.contents(state.source).manifest)
    if is_due:
        _calibrate(store, None, None, seed=0)


def put_calibration(store: Store, stored: dict[str, Any]) -> None:
    """Replace the stored calibration; `stored`: as `encode_calibration` returns it."""
    commit(
        store, lambda writer: writer.put_manifest(writer.put_calibration(writer.manifest(), stored))
    )


def problem_of(stored: Any) -> str | None:
    """Return why a stored calibration cannot be read; None if it can, or if there is none."""
    try:
        if stored is not None:
            plan.decode_calibration(stored)
    except (CorruptError, FormatError) as error:
        return f"the calibration cannot be read: {error}"
    return None


def measured_delays() -> plan.Delays:
    """Measure the delays of this machine, in about a fifth of a second."""
    generator = np.random.default_rng(0)
    return _bounded({**_probing(generator), **_arranging(generator)})


def _calibrate(
    store: Store, count: int | None, given: Sketches | None, seed: int
) -> plan.Calibration:
    """Calibrate from `count` stored documents (None: about a second of work) and `given` ones."""
    with store.state() as state:
        made = _learn(store, state, count, given, seed)
    put_calibration(store, plan.encode_calibration(made))
    return made


def _learn(
    store: Store, state: State, count: int | None, given: Sketches | None, seed: int
) -> plan.Calibration:
    """Return a calibration made from a sample of stored documents and the `given` ones."""
    whole("seed", int(seed) if isinstance(seed, np.integer) else seed, 0, SEED_MAX)
    generator = np.random.default_rng(seed)
    live = state.live()
    if count is None:
        # About a second of work.
        count = max(COUNT_LEAST, COMPARISONS // max(len(live), 1))
    chosen = np.sort(generator.choice(live, min(count, len(live)), replace=False))
    groups: list[tuple[Sketches, U32 | None]] = []
    if state.width:
        groups.append((stored_sketches(state, chosen.astype(np.uint32)), chosen))
    if given is not None:
        groups.append((given, None))
    samples = [_pairs(state, *group, generator) for group in groups]
    are_own = [own is not None for _, own in groups]
    pairs = plan.SampledPairs.joined([sample.pairs for sample in samples])
    return plan.Calibration(
        _model(store, samples),
        pairs,
        np.concatenate([sample.similarities for sample in samples]),
        np.repeat(are_own, [len(sample.pairs) for sample in samples]),
        len(live),
        sum(len(queries) for queries, _ in groups),
        state.next_ordinal,
        measured_delays(),
    )


def _pairs(
    state: State, queries: Sketches, own: U32 | None, generator: np.random.Generator
) -> PairSample:
    """Return at most PAIRS_MAX random pairs of a query and a similar stored document.

    `own`: the ordinals of the queries, so that no document is paired with itself.  Without stored
    weights, pairs are chosen by distance and have similarity NaN.
    """
    places, ordinals, similarities = [], [], []
    limit = NEAR_DISTANCE if state.width else plan.SAMPLED_DISTANCE
    for start in range(0, len(queries), PART_QUERIES):
        part = queries.taken(slice(start, start + PART_QUERIES))
        offsets, found, distances = state.scanned().scan(
            part.bits, distance=limit, first=False, after=None
        )
        at = np.repeat(np.arange(len(part)), np.diff(offsets))
        kept = (part.states == WEIGHTED)[at]
        if state.width:
            kept &= state.column(layout.STATE, found) == WEIGHTED
        if own is not None:
            kept &= found != own[start + at]
        at, found, distances = at[kept], found[kept], distances[kept]
        measured = np.full(len(found), np.nan, np.float32)
        if state.width:
            offsets = offsets_of(np.bincount(at, minlength=len(part)))
            measured = state.vectors(found).similarity(part.vectors, offsets, found)
        near = (measured >= SIMILARITY_LEAST) | (distances <= plan.SAMPLED_DISTANCE)
        places.append(at[near] + start)
        ordinals.append(found[near])
        similarities.append(measured[near])
    place = np.concatenate([np.empty(0, np.int64), *places])
    taken = np.arange(len(place))
    if len(taken) > PAIRS_MAX:
        taken = np.sort(generator.choice(taken, PAIRS_MAX, replace=False))
    drawn = queries.taken(place[taken])
    others = stored_sketches(state, np.concatenate([np.empty(0, np.uint32), *ordinals])[taken])
    return PairSample(
        plan.SampledPairs(drawn.bits, levels_of(drawn), others.bits),
        np.concatenate([np.empty(0, np.float32), *similarities])[taken],
        _weights(drawn.vectors),
        _weights(others.vectors),
    )


def _model(store: Store, samples: list[PairSample]) -> plan.VolatilityModel:
    """Fit a model to the pairs that match by default, or to all near pairs if few match.

    Both documents of a pair are taken as stored, so that their rounding is the same.
    """
    if not store.width:
        return volatility.prior()
    similarity = store.options.scale.compared(store.options.similarity)
    left = np.concatenate([sample.left for sample in samples])
    right = np.concatenate([sample.right for sample in samples])
    matching = np.concatenate([sample.similarities for sample in samples]) >= similarity
    if np.count_nonzero(matching) >= plan.QUERIES_LEAST:
        left, right = left[matching], right[matching]
    if len(left) < plan.QUERIES_LEAST:
        return volatility.prior()
    return volatility.fit(left, right, step=plan.STORED_STEP)


def _weights(vectors: U8) -> F32:
    """Return the odd whole numbers that packed vectors encode: float32[n, d]."""
    return unpack(vectors).astype(np.float32)


def _bounded(found: dict[str, float]) -> plan.Delays:
    """Return delays within sane bounds; the usual delay if one was not measured."""
    bounded = {}
    for each in fields(plan.Delays):
        usual: float = getattr(plan.USUAL_DELAYS, each.name)
        bounded[each.name] = min(max(found.get(each.name, usual), LEAST * usual), MOST * usual)
    return plan.Delays(**bounded)


def _tables(generator: np.random.Generator) -> list[Any]:
    """Return two tables of 2^DEPTH random fingerprints, with few and with many for each header."""
    count = 1 << DEPTH
    keys = np.arange(count, dtype=np.uint64) << np.uint64(FINGERPRINT_BITS - DEPTH)
    keys |= generator.integers(0, 1 << (FINGERPRINT_BITS - DEPTH), count, np.uint64)
    ordinals = np.arange(count, dtype=np.uint32)
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    directories = (
        np.arange(0, count + 1, entries, dtype=np.uint32)
        for entries in (HEADER_ENTRIES, MANY_ENTRIES)
    )
    return [
        kernel.Tables([ALL_BITS], [[(keys, ordinals, each)]], nothing, None) for each in directories
    ]


def _probing(generator: np.random.Generator) -> dict[str, float]:
    """Measure the costs of a comparison, header, flip set, prepared table and candidate."""
    tables, crowded = _tables(generator)
    queries = generator.integers(0, 2**FINGERPRINT_BITS, (REPEATS + 1, QUERIES), np.uint64)
    levels = generator.exponential(LEVEL_MEAN, (QUERIES, FINGERPRINT_BITS))
    query_levels = np.minimum(levels, 255).astype(np.uint8)
    costs = volatility.costs(volatility.prior())
    vectors, weights = _vectors(generator)

    def look_up(run: int, among: Any = tables) -> None:
        among.lookup(queries[run], distance=0, flips=0, first=False, after=None)

    def probe(run: int, theta: int, distance: int = 0) -> Any:
        return tables.probe(
            queries[run], query_levels, costs=costs, theta=theta, cap=CAP, distance=distance,
            first=False, after=None, tables=1,
        )  # fmt: skip

    def count(run: int, theta: int) -> Any:
        return tables.count_probes(query_levels, costs=costs, theta=theta, cap=CAP, tables=1)

    def hand_on(run: int) -> None:
        offsets, ordinals, _ = probe(run, 0, FINGERPRINT_BITS)
        ordinals %= np.uint32(VECTORS)
        measured = vectors.similarity(weights, offsets, ordinals)
        np.lexsort((ordinals, -measured, np.repeat(np.arange(QUERIES), np.diff(offsets))))

    def compare(run: int) -> None:
        tables.scan(queries[run, :SCANS], distance=0, first=False, after=None)

    def measure(run: int) -> None:
        vectors.scan(weights[:SCANS], similarity=1.0, skip=None, after=None)

    headers = float(count(0, THETA).mean())
    one, many = _seconds(partial(probe, theta=0)), _seconds(partial(probe, theta=THETA))
    flipping = _seconds(partial(count, theta=THETA)) - _seconds(partial(count, theta=0))
    few, more = _seconds(look_up), _seconds(partial(look_up, among=crowded))
    return {
        "visit": (more - few) / (QUERIES * (MANY_ENTRIES - HEADER_ENTRIES)),
        "memory": (many - one) / (QUERIES * (headers - 1)),
        "prepare": (one - few) / QUERIES,
        "flip": flipping / (QUERIES * headers * math.log2(headers)),
        "candidate": (_seconds(hand_on) - one) / (QUERIES * HEADER_ENTRIES),
        "compare": _seconds(compare) / (SCANS << DEPTH),
        "measure": _seconds(measure) / (SCANS * VECTORS),
    }


def _vectors(generator: np.random.Generator) -> tuple[Any, U8]:
    """Return random volatility vectors of stored documents and of queries."""
    stored = generator.integers(0, 256, (VECTORS, VECTOR_BYTES), np.uint8)
    return kernel.Vectors(VECTOR_BYTES, [(0, stored)]), stored[:QUERIES] ^ np.uint8(0x55)


def _arranging(generator: np.random.Generator) -> dict[str, float]:
    """Measure the cost of making a key, and of sorting it for each doubling of their number."""
    values = generator.integers(0, 2**FINGERPRINT_BITS, SORTED, np.uint64)
    keys, ordinals = np.empty_like(values), np.arange(SORTED, dtype=np.uint32)
    mask = leading_masks(4, 1)[1]

    def make(run: int) -> None:
        kernel.permute(values, mask, keys)

    def sort(run: int) -> None:
        kernel.sort(values.copy(), ordinals)

    return {
        "permute": _seconds(make) / SORTED,
        "sort": _seconds(sort) / (SORTED * math.log2(SORTED)),
    }


def _seconds(work: Callable[[int], object]) -> float:
    """Return the shortest time of several calls of `work(run)`; call 0 only warms up."""
    work(0)
    times = []
    for run in range(1, REPEATS + 1):
        started = time.perf_counter()
        work(run)
        times.append(time.perf_counter() - started)
    return min(times)
