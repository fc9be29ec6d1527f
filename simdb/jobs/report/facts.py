"""Facts: everything that a page about a database says, as plain values and in words."""

import os
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from simdb.core.arrays import Id
from simdb.core.options import Minhash, Options, Simhash
from simdb.core.previews import counted
from simdb.core.reports import Advice, HeaderFill, Statistics
from simdb.core.search import SearchLike
from simdb.core.text_sketch import TextSketch
from simdb.storage import DATA_FILE, WRITER_LOCK

# Grouping this many documents takes some ten seconds on one core, and a few hundred MB.
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
# With fewer documents, the bytes of a document tell nothing about larger databases.
TELLING_DOCUMENTS = 1000


@dataclass(frozen=True, slots=True)
class Threshold:
    """When documents match: at least `similarity`, at most `distance`; None for no such bound.

    `search`: how they are searched for, None for the usual way.
    """

    similarity: float | None
    distance: int | None
    recall: float
    search: SearchLike | None = None

    @property
    def asked(self) -> dict[str, Any]:
        """The same as arguments of the verbs that search."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the stored bytes, such as "Weights"."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Bin:
    """Values from `least` to `most`, and how many of them there are."""

    least: float
    most: float
    count: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was found for documents drawn at random.

    `documents` of `of_documents` were searched for; `seed` drew them.  `reason`: why these were not
    all documents, in words; empty if they were.  `pair_count`: the matches of all drawn documents,
    so pairs with both ends drawn count twice.  `matching_count`: the drawn documents with a match.
    `measure`: "similarity" or "distance"; the `bins` have the pairs by it, also pairs below the
    threshold, from `floor` on.  If all documents were searched for, each pair is in them once.
    `is_floored`: whether pairs below the threshold were searched for.
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
        """The share of documents with a match."""
        return self.matching_count / self.documents if self.documents else 0.0

    @property
    def total_pairs(self) -> int:
        """The estimated number of pairs that match in the database."""
        if not self.documents:
            return 0
        return round(self.pair_count * self.of_documents / self.documents / 2)


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Groups of `least` to `most` documents (None: any number), and the documents in them."""

    least: int
    most: int | None
    groups: int
    documents: int


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of text beside another: `kind` is one of excerpts.KINDS."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a group, compared with the first one.

    `similarity`, `distance`: None for the first document.  `pieces`: the beginning of its text,
    with what differs; empty if its text is not known.  `note`: how much differs, in words.
    """

    id: Id
    similarity: float | None
    distance: int | None
    pieces: tuple[TextPiece, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of near-duplicates: its size, its first document, and some of the others."""

    size: int
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a database, or an estimate by drawn documents.

    `is_complete`: all documents were grouped; otherwise a group is a drawn document with its direct
    matches, and the numbers are estimates.  `group_count` groups have `grouped_count` documents.
    `largest`: the largest groups that were found.
    """

    is_complete: bool
    group_count: int
    grouped_count: int
    sizes: tuple[SizeBin, ...]
    largest: tuple[Group, ...]

    @property
    def copies(self) -> int:
        """The documents that would go if one of each group stayed."""
        return self.grouped_count - self.group_count


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything on one page; `made`: when it was gathered.

    `created`: when the directory of the database got its files; None if that is not known.
    `written`: the last change of its data file.  `sketch`: its options as sentences.  `sections`:
    what the file consists of.
    `has_texts`: whether sources of texts were given; `missing_texts`: documents shown whose texts
    the sources do not have.
    """

    statistics: Statistics
    created: datetime | None
    written: datetime | None
    sketch: tuple[str, ...]
    sections: tuple[Section, ...]
    threshold: Threshold
    drawn: Drawn
    groups: Groups
    headers: tuple[HeaderFill, ...]
    advice: tuple[Advice, ...]
    made: datetime
    has_texts: bool
    missing_texts: int

    @property
    def unused_bytes(self) -> int:
        """The bytes of the pages of the file that are not in use."""
        return max(0, self.statistics.file_bytes - self.statistics.live_bytes)

    @property
    def bytes_per_document(self) -> float:
        """The bytes in use for each document."""
        return self.statistics.live_bytes / max(self.statistics.document_count, 1)

    @property
    def larger(self) -> list[tuple[int, int]]:
        """Larger numbers of documents, and the bytes of the file that they would take."""
        count = self.statistics.document_count
        each = self.bytes_per_document * count
        return [(by * count, round(by * each)) for by in LARGER if count >= TELLING_DOCUMENTS]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is searched, and how much is shown.

    `sample`: the number of documents drawn at random, whose matches are looked up.  The search for
    them also ends after `seconds`, or when it has found `pairs`.  Groups are made of all documents
    if there are at most `grouped_documents`, and else of the drawn documents and their matches.
    `groups`: how many of the largest groups are shown.
    """

    sample: int = 10_000
    seed: int = 0
    groups: int = 10
    grouped_documents: int = GROUPED_DOCUMENTS
    seconds: float = 30.0
    pairs: int = 20_000_000


def file_times(path: str) -> tuple[datetime | None, datetime]:
    """Return when a database was created at its place, None if unknown, and when it was written."""
    written = os.stat(os.path.join(path, DATA_FILE)).st_mtime
    # The lock file of writers is made with the database, and nothing is ever written to it.
    # Opening makes it again if it is missing, and then it tells nothing.
    lock = os.path.join(path, WRITER_LOCK)
    created = os.stat(lock).st_mtime if os.path.exists(lock) else written + 1
    shown = [datetime.fromtimestamp(each, timezone.utc) for each in (created, written)]
    return shown[0] if created <= written else None, shown[1]


def options_in_words(options: Options) -> tuple[str, ...]:
    """Return the options of a database as sentences."""
    sketch = options.sketch
    return (_pipeline(sketch), _sketch(options), _searching(options))


def threshold_in_words(threshold: Threshold, *, is_minhash: bool) -> str:
    """Return when two documents match, as the end of a sentence after `if`."""
    parts = []
    if threshold.similarity is not None:
        measure = "Jaccard similarity" if is_minhash else "cosine similarity"
        parts.append(f"their estimated {measure} is at least {threshold.similarity:g}")
    if threshold.distance is not None:
        parts.append(f"their fingerprints differ in at most {counted(threshold.distance, 'bit')}")
    return " and ".join(parts)


def table_group(name: str, *, is_minhash: bool) -> str:
    """Return the name of the tables of which a sub-database is one."""
    if name.startswith(POLYTOPES):
        return "Cross-polytope tables"
    return "Band tables" if is_minhash else "Permutation tables"


def sections_in_words(sizes: dict[str, int], *, is_minhash: bool) -> tuple[Section, ...]:
    """Return the bytes of sub-databases by what they are for, the most bytes first."""
    names = {
        "ids": "Table of ids",
        "documents": "Ids and signature states" if is_minhash else "Ids and fingerprints",
        "volatility": "Signatures" if is_minhash else "Weights",
        "delta": "Recent documents",
        "metadata": "Metadata",
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
    """Return how a text becomes features."""
    steps = []
    if sketch.markup == "html":
        steps.append("the visible text of an HTML page is taken")
    if sketch.normalisation != "none":
        steps.append(f"characters are normalised ({sketch.normalisation.upper()})")
    if sketch.clean:
        steps.append("what is not seen is dropped")
    if sketch.marks != "keep":
        steps.append("accents and points are dropped")
    tokeniser, into = f"by the tokeniser {sketch.tokeniser}", f"into {UNITS[sketch.unit]}"
    steps.append(f"texts are cut {tokeniser if sketch.tokeniser else into}")
    if sketch.lowercase:
        steps.append("letters become lower case")
    if sketch.stop_words:
        known = isinstance(sketch.stop_words, str)
        steps.append(f"stop words are left out ({sketch.stop_words if known else 'own list'})")
    if sketch.stemming:
        steps.append(f"words are stemmed ({sketch.stemming})")
    whole = ", ".join(steps)
    shingle = "each of them is a feature"
    if sketch.shingle > 1:
        shingle = f"each {sketch.shingle} in a row are a feature"
    return f"{whole[0].upper()}{whole[1:]}; {shingle}, which {WEIGHTINGS[sketch.weighting]}."


def _sketch(options: Options) -> str:
    """Return what is stored of a document."""
    sketch = options.sketch
    if isinstance(sketch, Minhash):
        return (
            f"Of each document a MinHash signature of {sketch.permutations} minima is stored,"
            f" {sketch.stored_bits} bits each, in {options.bands} bands of {options.rows}."
        )
    text = "Of each document a fingerprint of 64 bits is stored"
    if isinstance(sketch, Simhash) and sketch.vector_bytes:
        text += (
            f", and {sketch.dimensions} weights of 4 bits each, by which similarity is estimated"
        )
    return f"{text}; texts are not stored."


def _searching(options: Options) -> str:
    """Return the defaults of queries."""
    recall = f"a search finds {100 * options.recall:.4g}% of the matches"
    similarity = f"at an estimated similarity of {options.similarity:g} or more"
    if options.is_minhash:
        return f"By default, documents match {similarity}, and {recall}."
    distance = f"up to {options.distance} differing bits"
    if not options.sketch.vector_bytes:
        return f"By default, documents match with {distance}, and {recall}."
    return (
        f"By default, documents with weights match {similarity}, ready fingerprints with"
        f" {distance}, and {recall}."
    )
