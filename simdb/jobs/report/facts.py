"""Facts: the contents of the page about a database, as plain values and in words.

`gather` collects them within limits.  Similarities come from the matches of documents drawn at
random.  Each pair is equally likely to be found from one of its ends, so these pairs are a sample
of all pairs.  The search also covers pairs slightly below the threshold, which show the effect of
another threshold.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from simdb.core.arrays import Id, sums_of
from simdb.core.clusters import Clusters
from simdb.core.dtypes import F64, I64
from simdb.core.options import BY_DISTANCE, Minhash, Options, Simhash
from simdb.core.previews import counted
from simdb.core.reports import Advice, HeaderFill, Statistics
from simdb.core.text_sketch import TextSketch
from simdb.core.values import dataclass, replace
from simdb.database import Database, Question, Snapshot
from simdb.jobs.report.excerpts import TextPiece, beginning, compared
from simdb.storage import file_times

# Grouping this many documents takes about ten seconds on one core, and a few hundred MB.
GROUPED_DOCUMENTS = 2_000_000
UNITS = {
    "words": "words",
    "characters": "characters",
    "whitespace": "pieces between white space",
    "moz": "words of ASCII letters, as simhash-cpp does",
}
WEIGHTINGS = {
    "binary": "counts once in a document, however often it occurs",
    "set": "counts once in a document, however often it occurs",
    "bag": "counts as often as it occurs",
    "tf": "weighs as often as it occurs",
    "log-tf": "weighs a little more if it occurs more often",
    "binary-idf": "weighs more if it is rare in the collection",
    "tf-idf": "weighs as often as it occurs, and more if it is rare in the collection",
    "log-tf-idf": "weighs a little more if it occurs more often, and more if it is rare in the"
    " collection",
}
TABLES, POLYTOPES = ("table/", "polytope/")
OTHER = "Everything else"
LARGER = (2, 10, 100)
# With fewer documents, the bytes per document do not predict the size of larger databases.
TELLING_DOCUMENTS = 1000

# The least size of the groups in each bin.
SIZE_STEPS = (2, 3, 4, 6, 11, 21, 51, 101, 1001, 10_001)
# Limit on the documents of a group that are compared with the first one.
COMPARED_MEMBERS = 1000
SHOWN_MEMBERS = 3
# Candidates for the largest groups, per group shown.
CANDIDATES = 5

# Pairs are shown down to `BELOW` under the threshold, in bins of this width.
BELOW = 0.1
BIN_WIDTH = 0.01
# Approximate limit on the pairs in memory; a single document may have more.
PAIRS_AT_ONCE = 1 << 20
SLICE_MOST, SLICE_SECONDS = 4096, 2.0
SIMILARITY, DISTANCE = "similarity", "distance"

Texts = Callable[[Collection[Id]], Mapping[Id, str]]
Show = Callable[[str], None]


class Section(NamedTuple):
    """A part of the stored bytes, such as "Weights"."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of a histogram: the number of values from `least` to `most`."""

    least: float
    most: float
    count: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """The matches of documents drawn at random.

    `documents` of `of_documents` documents were looked up, drawn with `seed`.  `reason`: why not
    all, in words; empty if all were.  `pair_count`: the number of matches of all drawn documents,
    so a pair counts twice if both its ends were drawn.  `matching_count`: the number of drawn
    documents with a match.

    `measure`: "similarity" or "distance".  `bins`: a histogram of pairs by the measure.
    `is_floored`: whether it includes pairs below the threshold, down to `floor`.  If all documents
    were looked up, each pair is in the bins once.
    """

    documents: int
    of_documents: int
    seed: int
    reason: str
    pair_count: int
    matching_count: int
    measure: str
    floor: float
    is_floored: bool
    bins: tuple[Bin, ...]

    @property
    def matching_share(self) -> float:
        """The share of drawn documents with a match."""
        return self.matching_count / self.documents if self.documents else 0.0

    @property
    def total_pairs(self) -> int:
        """The estimated number of matching pairs in the database."""
        if not self.documents:
            return 0
        return round(self.pair_count * self.of_documents / self.documents / 2)


class SizeBin(NamedTuple):
    """A bin of groups with `least` to `most` documents (None: no limit), and its counts."""

    least: int
    most: int | None
    groups: int
    documents: int


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a group, compared with the first one.

    `similarity`, `distance`: None for the first document.  `pieces`: an excerpt of its text with
    the differences; empty if the text is unknown.  `note`: the amount of differences, in words.
    """

    id: Id
    similarity: float | None = None
    distance: int | None = None
    pieces: tuple[TextPiece, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of near-duplicates: its size, and its first document with some others."""

    size: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a database, or an estimate from drawn documents.

    `is_complete`: whether all documents were grouped.  If not, a group is a drawn document with its
    direct matches, and the numbers are estimates.  `group_count` groups have `grouped_count`
    documents.  `largest`: the largest groups found.
    """

    is_complete: bool
    group_count: int
    grouped_count: int
    sizes: tuple[SizeBin, ...]
    largest: tuple[Group, ...]

    @property
    def copies(self) -> int:
        """The number of documents that deduplication would remove, all except one per group."""
        return self.grouped_count - self.group_count


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of a page; `made`: the time when they were gathered.

    `created`: the time of creation of the database, None if unknown.  `written`: the last change
    of its data file.  `sketch`: its options as sentences.  `sections`: the contents of the file, by
    size.  `threshold`: the question with its defaults filled in.  `has_texts`: whether texts are
    stored or were given.  `missing_texts`: the number of shown documents without a text there.
    """

    statistics: Statistics
    created: datetime | None
    written: datetime | None
    sketch: tuple[str, ...]
    sections: tuple[Section, ...]
    threshold: Question
    drawn: Drawn
    groups: Groups
    headers: tuple[HeaderFill, ...]
    advice: tuple[Advice, ...]
    made: datetime
    has_texts: bool
    missing_texts: int

    @property
    def unused_bytes(self) -> int:
        """The bytes of unused pages in the file."""
        return max(0, self.statistics.file_bytes - self.statistics.live_bytes)

    @property
    def bytes_per_document(self) -> float:
        """The bytes in use for each document."""
        return self.statistics.live_bytes / max(self.statistics.document_count, 1)

    @property
    def larger(self) -> list[tuple[int, int]]:
        """Larger numbers of documents, and the expected size of the file in bytes for each."""
        count = self.statistics.document_count
        each = self.bytes_per_document * count
        return [(by * count, round(by * each)) for by in LARGER if count >= TELLING_DOCUMENTS]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a page.

    `sample`: the number of documents drawn at random, with `seed`, to look up their matches.  The
    lookup ends early after `seconds`, or after `pairs` pairs.  If there are more documents than
    `grouped_documents`, only drawn documents and their matches are grouped.  `groups`: the number
    of the largest groups to show.
    """

    sample: int = 10_000
    seed: int = 0
    groups: int = 10
    grouped_documents: int = GROUPED_DOCUMENTS
    seconds: float = 30.0
    pairs: int = 20_000_000


def gather(
    database: Database,
    question: Question,
    *,
    limits: Limits | None = None,
    texts: Texts | None = None,
    show: Show = lambda state: None,
) -> Facts:
    """Collect the contents of a page; `question`: the threshold and the search method.

    `texts` returns the known texts of given ids; None takes stored texts, if any.  `show` is called
    with the name of each step.  Raises OptionError for an impossible threshold.
    """
    limits = limits or Limits()
    show("reading sizes")
    statistics = database.stats()
    with database.read() as snapshot:
        threshold = _threshold(database, snapshot, question)
        drawn, groups = _searched(snapshot, statistics, threshold, limits, show)
    wanted = {member.id for group in groups.largest for member in group.members}
    missing = 0
    if texts is None and database.options.texts:
        texts = partial(_stored_texts, database)
    if texts is not None:
        known = texts(wanted)
        missing = len(wanted - known.keys())
        largest = tuple(_with_texts(group, known) for group in groups.largest)
        groups = replace(groups, largest=largest)
    show("reading headers")
    created, written = file_times(statistics.path)
    is_minhash = database.options.is_minhash
    return Facts(
        statistics=statistics, created=created, written=written,
        sketch=options_in_words(database.options),
        sections=sections_in_words(statistics.section_bytes, is_minhash=is_minhash),
        threshold=threshold, drawn=drawn, groups=groups, headers=database.header_fill(),
        advice=tuple(database.advice()), made=datetime.now(timezone.utc),
        has_texts=texts is not None, missing_texts=missing,
    )  # fmt: skip


def _stored_texts(database: Database, wanted: Collection[Id]) -> dict[Id, str]:
    """Return the stored texts of documents, without documents that have none."""
    found = zip(wanted, database.texts_many(list(wanted)), strict=True)
    return {id: text for id, text in found if text is not None}


def _threshold(database: Database, snapshot: Snapshot, question: Question) -> Question:
    """Return the question; a missing threshold or recall is taken from the database."""
    options = database.options
    plan = snapshot.plan(**_asked(question), pairs=True)
    recall = options.recall if question.recall is None else question.recall
    if question.has_bound:
        return question._replace(recall=recall)
    if plan.similarity is None or options.keep_clusters == BY_DISTANCE:
        return question._replace(distance=options.distance, recall=recall)
    return question._replace(similarity=plan.similarity, recall=recall)


def _asked(threshold: Question) -> dict[str, Any]:
    """Return the threshold as arguments of the search verbs."""
    return {
        name: getattr(threshold, name) for name in ("similarity", "distance", "recall", "search")
    }


def _searched(
    snapshot: Snapshot, statistics: Statistics, threshold: Question, limits: Limits, show: Show
) -> tuple[Drawn, Groups]:
    population = statistics.document_count - statistics.empty_count
    if threshold.similarity is not None:
        population -= statistics.bare_count
    drawn, ids, counts = _draw_pairs(snapshot, threshold, limits, population, show)
    show("finding groups")
    if population <= limits.grouped_documents:
        clusters = snapshot.find_clusters(**_asked(threshold))
        ones = np.ones(len(clusters))
        largest = _largest_clusters(snapshot, clusters, limits.groups)
        return drawn, _groups(clusters.sizes, ones, ones * clusters.sizes, largest)
    has_match = counts > 0
    sizes = counts[has_match] + 1
    in_documents = np.full(len(sizes), population / max(len(ids), 1))
    largest = _largest_drawn(snapshot, threshold, limits, ids, counts)
    groups = _groups(sizes, in_documents / sizes, in_documents, largest)
    return drawn, replace(groups, is_complete=False)


def _groups(sizes: I64, in_groups: F64, in_documents: F64, largest: tuple[Group, ...]) -> Groups:
    """Return groups from sizes; `in_groups`, `in_documents`: the estimates that each stands for."""
    places = np.searchsorted(SIZE_STEPS, sizes, side="right") - 1
    mosts = [*(step - 1 for step in SIZE_STEPS[1:]), None]
    counts = (map(round, np.bincount(places, each).tolist()) for each in (in_groups, in_documents))
    return Groups(
        is_complete=True,
        group_count=round(in_groups.sum()),
        grouped_count=round(in_documents.sum()),
        sizes=tuple(map(SizeBin, SIZE_STEPS, mosts, *counts)),
        largest=largest,
    )


def _largest_clusters(snapshot: Snapshot, clusters: Clusters, count: int) -> tuple[Group, ...]:
    found = []
    for at in np.argsort(-clusters.sizes, kind="stable")[:count].tolist():
        start, stop = (int(each) for each in clusters.offsets[at : at + 2])
        ids = clusters.ids[start : min(stop, start + 1 + COMPARED_MEMBERS)].tolist()
        found.append(_group(snapshot, stop - start, ids[0], ids[1:]))
    return tuple(found)


def _largest_drawn(
    snapshot: Snapshot, threshold: Question, limits: Limits, ids: list[Id], counts: I64
) -> tuple[Group, ...]:
    """Return groups of the drawn documents with the most matches, at most one for each cluster."""
    order = np.argsort(-counts, kind="stable")[: CANDIDATES * limits.groups]
    found: list[Group] = []
    passed: set[Id] = set()
    for at in order.tolist():
        id, count = ids[at], int(counts[at])
        if count == 0 or len(found) == limits.groups:
            break
        if id in passed or _matches_one(snapshot, threshold, id, found):
            continue
        matches = snapshot.query(id=id, limit=COMPARED_MEMBERS, **_asked(threshold))
        others = [match.id for match in matches]
        passed.update(others)
        if others:
            found.append(_group(snapshot, count + 1, id, others))
    return tuple(found)


def _matches_one(snapshot: Snapshot, threshold: Question, id: Id, found: list[Group]) -> bool:
    """Return whether a document matches the first document of any group."""
    pairs = snapshot.compare([each.members[0].id for each in found], [id] * len(found))
    is_match = np.ones(len(found), np.bool_)
    if threshold.similarity is not None:
        is_match &= pairs.similarity >= np.float32(threshold.similarity)
    if threshold.distance is not None:
        is_match &= pairs.distance <= threshold.distance
    return bool(is_match.any())


def _group(snapshot: Snapshot, size: int, first: Id, others: list[Any]) -> Group:
    """Return a group: the first document, and the documents least similar to it."""
    pairs = snapshot.compare([first] * len(others), others)
    similarity, distance = np.minimum(pairs.similarity, 1.0), pairs.distance.astype(np.int64)
    is_known = ~np.isnan(similarity)
    members = [
        Member(others[at], float(similarity[at]) if is_known[at] else None, int(distance[at]))
        for at in np.lexsort((-distance, np.where(is_known, similarity, 1.0)))[:SHOWN_MEMBERS]
    ]
    return Group(size, (Member(first), *members))


def _with_texts(group: Group, texts: Mapping[Id, str]) -> Group:
    """Return a group with the texts of its documents, compared with the text of the first one."""
    first = texts.get(group.members[0].id)
    members = []
    for member in group.members:
        text = texts.get(member.id)
        if text is None:
            pieces, note = member.pieces, "the sources do not have its text"
        elif member.distance is None or first is None:
            pieces, note = beginning(text), member.note
        else:
            pieces, note = compared(first, text)
        members.append(replace(member, pieces=pieces, note=note))
    return replace(group, members=tuple(members))


def _draw_pairs(
    snapshot: Snapshot, threshold: Question, limits: Limits, population: int, show: Show
) -> tuple[Drawn, list[Id], I64]:
    """Look up the matches of documents drawn at random from a `population` of documents.

    Also returns the id and the number of matches of each drawn document.
    """
    is_measured = threshold.similarity is not None
    # The threshold is not lowered if a distance or a search method is given, too.
    is_floored = is_measured and threshold.distance is None and threshold.search is None
    floor = _floor(threshold.similarity or 0.0) if is_floored else threshold.similarity or 0.0
    ids = snapshot.draw_ids(limits.sample, seed=limits.seed, weighted=is_measured)
    edges = _edges(floor) if is_measured else np.arange((threshold.distance or 0) + 2, dtype=float)
    binned = np.zeros(len(edges) - 1, np.int64)
    counts = np.zeros(0, np.int64)
    begun = time.monotonic()
    done, pairs, size, reason = 0, 0, 1, ""
    while done < len(ids) and not reason:
        some, slice_begun = ids[done : done + size], time.monotonic()
        found = snapshot.query_many(ids=some, **_asked(threshold) | {"similarity": floor or None})
        values = found.distances.astype(np.float64)
        is_match = np.ones(len(values), np.bool_)
        if threshold.similarity is not None:
            # Clipped, since the correction of an estimate can exceed 1.
            values = np.clip(np.round(found.similarities.astype(np.float64), 6), edges[0], 1.0)
            is_match = found.similarities >= np.float32(threshold.similarity)
        binned += np.histogram(values, edges)[0]
        counts = np.append(counts, sums_of(is_match, found.offsets))
        pairs += len(values)
        done += len(some)
        show(f"{done:,} of {len(ids):,} drawn documents looked up")
        each = (time.monotonic() - slice_begun) / len(some)
        size = next_size(size, int(np.diff(found.offsets).max(initial=0)), each)
        reason = "" if done == len(ids) else _stop(limits, pairs, time.monotonic() - begun)
    if not reason and done < population:
        reason = "--sample sets how many are drawn"
    # Without a reason, all documents were looked up, so each pair was found from both ends.
    shown = binned if reason else (binned + 1) // 2
    drawn = Drawn(
        documents=done, of_documents=population, seed=limits.seed, reason=reason,
        pair_count=int(counts.sum()), matching_count=int((counts > 0).sum()),
        measure=SIMILARITY if is_measured else DISTANCE, floor=floor, is_floored=is_floored,
        bins=tuple(map(Bin, edges[:-1].tolist(), edges[1:].tolist(), shown.tolist())),
    )  # fmt: skip
    return drawn, ids[:done], counts


def next_size(size: int, most: int, seconds: float) -> int:
    """Return the number of documents to look up next.

    Of the last `size` documents, none had more than `most` matches, and each took `seconds` on
    average.
    """
    in_time = int(SLICE_SECONDS / max(seconds, 1e-9))
    return max(1, min(2 * size, SLICE_MOST, PAIRS_AT_ONCE // max(most, 1), in_time))


def _floor(similarity: float) -> float:
    """Return the lowest similarity to search for, a round number."""
    return max(math.floor((similarity - BELOW) / BIN_WIDTH + 1e-6) * BIN_WIDTH, BIN_WIDTH)


def _edges(floor: float) -> F64:
    """Return the edges of bins from `floor` to 1; all except the first are round numbers."""
    first = math.floor(floor / BIN_WIDTH + 1e-6)
    edges = np.arange(first, round(1 / BIN_WIDTH) + 1) * BIN_WIDTH
    if len(edges) == 1:
        edges = np.array([1 - BIN_WIDTH, 1.0])
    edges[0], edges[-1] = min(floor, edges[1] - 1e-9), 1.0
    return np.round(edges, 9)


def _stop(limits: Limits, pairs: int, seconds: float) -> str:
    """Return why the lookup of drawn documents must end early, or ""."""
    if pairs >= limits.pairs:
        return f"the search ended after {limits.pairs:,} pairs"
    if seconds >= limits.seconds:
        return f"the search ended after {limits.seconds:g} seconds"
    return ""


def options_in_words(options: Options) -> tuple[str, ...]:
    """Return the options of a database as sentences."""
    if options.is_hashes:
        return (f"Documents are hashes of {options.bits} bits.", _searching(options))
    return (_pipeline(options.sketch), _sketch(options), _searching(options))


def threshold_in_words(threshold: Question, name: str | None) -> str:
    """Return the condition for a match, as the end of a sentence after `if`."""
    parts = []
    if threshold.similarity is not None:
        measure = "cosine similarity" if name == "cosine" else "Jaccard similarity"
        parts.append(f"their estimated {measure} is at least {threshold.similarity:g}")
    if threshold.distance is not None:
        parts.append(f"their fingerprints differ in at most {counted(threshold.distance, 'bit')}")
    return " and ".join(parts)


def table_group(name: str, *, is_minhash: bool) -> str:
    """Return the name of the kind of table in a sub-database."""
    if name.startswith(POLYTOPES):
        return "Cross-polytope tables"
    return "Band tables" if is_minhash else "Permutation tables"


def sections_in_words(sizes: dict[str, int], *, is_minhash: bool) -> tuple[Section, ...]:
    """Return the bytes of sub-databases by their purpose, in descending order."""
    names = {
        "ids": "Table of ids",
        "documents": "Ids and signature states" if is_minhash else "Ids and fingerprints",
        "volatility": "Signatures" if is_minhash else "Weights",
        "delta": "Recent documents",
        "metadata": "Metadata",
        "texts": "Texts",
        "clusters": "Kept clusters",
    }
    totals: dict[str, int] = {}
    for name, count in sizes.items():
        shown = names.get(name, OTHER)
        if name.startswith((TABLES, POLYTOPES)):
            shown = table_group(name, is_minhash=is_minhash)
        totals[shown] = totals.get(shown, 0) + count
    ordered = sorted(totals.items(), key=lambda each: (-each[1], each[0]))
    return tuple(Section(name, count) for name, count in ordered if count)


def _pipeline(sketch: TextSketch) -> str:
    """Return the steps from a text to its features, as a sentence."""
    by = f"into {UNITS[sketch.unit]}"
    if sketch.tokeniser:
        by = f"by the tokeniser {sketch.tokeniser}"
    stop_words = sketch.stop_words if isinstance(sketch.stop_words, str) else "own list"
    form = sketch.normalisation.upper().replace("LENIENT", "NFKC, look-alikes are equal")
    steps = [
        (sketch.markup == "html", "the visible text of an HTML page is taken"),
        (form != "NONE", f"characters are normalised ({form})"),
        (sketch.clean, "invisible characters are dropped"),
        (sketch.marks != "keep", "accents and points are dropped"),
        (True, f"texts are cut {by}"),
        (sketch.lowercase, "letters become lower case"),
        (sketch.stop_words, f"stop words are removed ({stop_words})"),
        (sketch.stemming, f"words are stemmed ({sketch.stemming})"),
    ]
    whole = ", ".join(step for is_taken, step in steps if is_taken)
    shingle = "each of them is a feature"
    if sketch.shingle > 1:
        shingle = f"each run of {sketch.shingle} is a feature"
    return f"{whole[0].upper()}{whole[1:]}; {shingle}, which {WEIGHTINGS[sketch.weighting]}."


def _sketch(options: Options) -> str:
    """Return the stored values of a document, as a sentence."""
    sketch = options.sketch
    if isinstance(sketch, Minhash):
        return (
            f"For each document, a MinHash signature of {sketch.permutations} minima is stored,"
            f" {counted(sketch.stored_bits, 'bit')} each, in {options.bands} bands of"
            f" {options.rows}."
        )
    text = "For each document, a fingerprint of 64 bits is stored"
    if isinstance(sketch, Simhash) and sketch.vector_bytes:
        text += (
            f", and {sketch.dimensions} weights of 4 bits each, by which similarity is estimated"
        )
    return f"{text}; texts are {'compressed' if options.texts else 'not stored'}."


def _searching(options: Options) -> str:
    """Return the defaults of queries, as a sentence."""
    recall = f"a search finds {100 * options.recall:.4g}% of the matches"
    name = "cosine" if options.measure == "cosine" else "Jaccard"
    similarity = f"at an estimated {name} similarity of {options.similarity:g} or more"
    if options.is_minhash:
        return f"By default, documents match {similarity}, and {recall}."
    distance = f"up to {options.distance} differing bits"
    if not options.has_similarities:
        return f"By default, documents match with {distance}, and {recall}."
    return (
        f"By default, documents with weights match {similarity}, ready fingerprints with"
        f" {distance}, and {recall}."
    )
