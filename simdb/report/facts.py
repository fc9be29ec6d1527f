"""Facts: everything that a page about a database says, as plain values."""

from dataclasses import dataclass
from datetime import datetime

from simdb.results.reports import Advice, HeaderFill, RunStatistics
from simdb.values.arrays import Id

# Grouping this many documents takes some ten seconds on one core, and a few hundred MB.
GROUPED_DOCUMENTS = 2_000_000


@dataclass(frozen=True, slots=True)
class Threshold:
    """When documents match: at least `similarity`, at most `distance`; None for no such bound."""

    similarity: float | None
    distance: int | None
    recall: float


@dataclass(frozen=True, slots=True)
class Headline:
    """The first things to know about a database.

    `created`: when its directory got its files; None if that is not known.  `written`: the last
    change of its data file.  `sketch`: its options as sentences.
    """

    path: str
    document_count: int
    empty_count: int
    bare_count: int
    deleted_count: int
    file_bytes: int
    created: datetime | None
    written: datetime | None
    sketch: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the stored bytes, such as "Weights"."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Storage:
    """What the file consists of; `unused_bytes`: its pages that are not in use.

    `delta_count`: recent documents, which are in no run.  `larger`: numbers of documents with the
    bytes of the file that they would take.
    """

    sections: tuple[Section, ...]
    runs: tuple[RunStatistics, ...]
    delta_count: int
    file_bytes: int
    unused_bytes: int
    bytes_per_document: float
    larger: tuple[tuple[int, int], ...]


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

    `has_texts`: whether sources of texts were given; `missing_texts`: documents shown whose texts
    the sources do not have.
    """

    headline: Headline
    storage: Storage
    threshold: Threshold
    drawn: Drawn
    groups: Groups
    headers: tuple[HeaderFill, ...]
    advice: tuple[Advice, ...]
    made: datetime
    has_texts: bool
    missing_texts: int


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
