"""Question: the arguments of a deduplication, and its decisions.

`Evidence` has what `at` and `report` need of the removed rows, such as their texts.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np

from simdb import database, jobs
from simdb.core.arrays import offsets_of
from simdb.core.checks import one_of, shares
from simdb.core.choices import ErrorsName, PolicyName, VerifyName
from simdb.core.decoding import UTF8
from simdb.core.dtypes import F32, I64, Bools
from simdb.core.errors import InputError, OptionError
from simdb.core.matches import Verification
from simdb.core.options import Bits, Options, SearchLike
from simdb.core.progress import Report
from simdb.core.skipped import Skipped
from simdb.core.text_sketch import TextSketch
from simdb.core.values import dataclass, field, replace
from simdb.jobs import report
from simdb.sketch import AnySketcher

if TYPE_CHECKING:
    from simdb.jobs.report.page import TextPair

# Returns the texts at given positions, in that order; several threads may call it.
TextSource: TypeAlias = Callable[[I64], Any]
# Returns the ids of documents at given positions.
NamesAt: TypeAlias = Callable[[I64], Sequence[Any]]


class Documents(Protocol):
    """The documents of some rows: texts or vectors."""

    def __len__(self) -> int:
        """Count the rows."""

    def at(self, rows: I64) -> Any:
        """Return the documents at the positions `rows`, in that order."""


@dataclass(frozen=True, slots=True)
class DedupQuestion:
    """The arguments of `simdb.deduplicate` and `simdb dedup` that a search takes."""

    similarity: float | None = None
    distance: int | None = None
    recall: float | None = None
    verify: VerifyName | None = None  # None: by exact similarity if possible, see `of`
    policy: PolicyName = database.STAR
    max_share: float | None = None
    errors: ErrorsName = "strict"
    threads: int = 1
    progress: Report | None = None
    search: SearchLike | None = None
    memory: int | None = None
    encoding: str = UTF8
    skipped: Skipped = field(default_factory=Skipped)  # takes the rows that cannot be read
    # Called with the number of pairs compared so far.
    watch: Report | None = None
    hashes: Bits | None = None  # the sketch of documents that are hashes
    lose: int | None = None  # word 3-grams that may be lost; None without rule="contained"

    def __post_init__(self) -> None:
        """Raise OptionError for an unknown word, or a share outside 0 to 1."""
        database.check_policy(self.policy)
        if self.verify is not None:
            one_of("verify", self.verify, database.VERIFICATIONS)
        shares(max_share=self.max_share)

    @property
    def is_exact(self) -> bool:
        """Whether the texts are compared."""
        return self.verify != database.ESTIMATE

    @property
    def compares_numbers(self) -> bool:
        """Whether similar texts must also contain equal numbers."""
        return self.verify == database.NUMBERS

    @property
    def is_star(self) -> bool:
        """Whether each removed row matches the row that is kept for it."""
        return self.policy == database.STAR

    @property
    def is_plain(self) -> bool:
        """Whether no argument concerns fingerprints: no distance, and no method of search."""
        return self.distance is None and self.search is None

    @property
    def silent(self) -> "DedupQuestion":
        """This question without progress, for a result: a result must not keep a bar alive."""
        return replace(self, progress=None, watch=None)

    @property
    def asked(self) -> database.question.Question:
        """The question for a search of a database."""
        if self.lose:
            raise OptionError(
                "lose= works only without a database; leave out lose= or the database"
            )
        asked = self.similarity, self.distance, self.recall, self.search
        return database.question.Question(*asked, verify=self.verify, lose=self.lose)

    @property
    def rule(self) -> list[Any]:
        """The arguments that decide which documents match, as the note of a run stores them."""
        search = None if self.search is None else str(self.search)
        asked = [self.similarity, self.distance, self.recall, search, self.verify]
        return asked if self.lose is None else [*asked, self.lose]

    def of(self, sketch: TextSketch) -> "DedupQuestion":
        """Return this question, with `verify` chosen for a sketch if it is None."""
        by_distance = self.distance is not None and self.similarity is None
        usual: VerifyName = (
            database.ESTIMATE if by_distance or sketch.unit == "moz" else database.EXACT
        )
        return self if self.verify is not None else replace(self, verify=usual)

    def of_documents(self, options: Options | None) -> "DedupQuestion":
        """Return this question for documents of a database with `options`.

        For hashes, raises OptionError for an argument that needs texts.
        """
        if options is None or not isinstance(options.sketch, Bits):
            return self
        if self.compares_numbers or self.lose is not None:
            raise OptionError("verify='numbers', rule='contained' need texts, but these are hashes")
        if self.similarity is not None:
            raise OptionError(
                "hashes have no similarity; give distance=, the largest number of bits in which"
                " two matching hashes differ"
            )
        distance = options.distance if self.distance is None else self.distance
        return replace(self, verify="estimate", distance=distance, hashes=options.sketch)

    def check(self, sketch: TextSketch) -> None:
        """Raise OptionError if texts must be compared but cannot."""
        if self.lose is not None and not (self.is_exact and self.is_star and self.is_plain):
            raise OptionError("rule='contained' needs similarity=, verify='exact', policy='star'")
        if not self.is_exact:
            return
        if self.distance is not None and self.similarity is None:
            raise OptionError(
                f"verify={self.verify!r} decides by similarity; give similarity=, or"
                " verify='estimate' to decide by distance= alone"
            )
        if sketch.unit == "moz":
            raise OptionError("unit='moz' has no exact similarity; give verify='estimate'")

    def check_share(self, removed: int, count: int, more: str = "") -> None:
        """Raise OptionError if too many of `count` rows would be removed; `more`: a hint."""
        if self.max_share is not None and removed > self.max_share * count:
            raise OptionError(
                f"{removed:,} of {count:,} documents are duplicates, which is {removed / count:.1%}"
                f" and more than max_share={self.max_share:g}",
                python="nothing was removed or stored; look at .groups without max_share=, then"
                " give a larger share or a higher similarity=",
                command="nothing was written. Look at the groups without --output and --db, then"
                f" give a larger share or --similarity{f' ({more})' if more else ''}",
            )

    def report(self, count: int) -> None:
        """Report to the caller that `count` rows are done."""
        if self.progress is not None:
            self.progress(count)

    def refuse(
        self,
        error: InputError,
        sketcher: AnySketcher,
        texts: Documents,
        rows: I64,
        *,
        of: str = "data",
    ) -> NoReturn:
        """Raise `error` with the position of the row among `rows` that caused it.

        `of`: the argument that has the rows.
        """
        for row in rows:
            try:
                sketcher.sketch(texts.at(np.array([row])), errors=self.errors)
            except InputError as own:
                raise InputError(f"row {row} of {of}: {own}") from own
        raise error


def check_together(db: object, against: object, policy: str, run: object = None) -> None:
    """Raise OptionError for arguments that exclude each other; None means not given."""
    if db is not None and against is not None:
        raise OptionError(
            "against= compares with a reference and stores nothing, and db= stores what is new;"
            " give one of the two"
        )
    for name, value in {"db": db, "against": against}.items():
        if value is not None and policy != database.STAR:
            raise OptionError(
                f"policy={policy!r} works only without {name}=, where documents are grouped; with"
                " it, a document is removed if it matches a kept document"
            )
    if run is not None:
        if db is None:
            raise OptionError("run= names a run for db=; give both, or neither")
        jobs.checked_name(run)


@dataclass(frozen=True, slots=True)
class Decided:
    """The removed documents and their leaders, by positions in the input.

    `removed` int64[k] ascends.  `leaders` int64[k]: the document kept for each, or -1 - p for the
    position p of a reference.  `similarities` float32[k] and `distances` int64[k] are between both;
    `distances` may be None.  `verification`: how the texts corrected the estimates; None if no
    texts were compared.
    `lost` int64[k]: with rule="contained", the number of word 3-grams of each removed document that
    its leader lacks; otherwise None.
    """

    removed: I64
    leaders: I64
    similarities: F32
    distances: I64 | None
    verification: Verification | None
    lost: I64 | None = None

    def chosen(self, chosen: Bools | I64) -> "Decided":
        """Return the decisions if only some documents are removed: bool[k] or places."""
        return replace(
            self, removed=self.removed[chosen], leaders=self.leaders[chosen],
            similarities=self.similarities[chosen],
            distances=None if self.distances is None else self.distances[chosen],
            lost=None if self.lost is None else self.lost[chosen],
        )  # fmt: skip

    def ascending(self) -> "Decided":
        """Return the decisions with `removed` in ascending order."""
        return self.chosen(np.argsort(self.removed))

    def groups(self, order: I64 | None) -> tuple[I64, I64, I64]:
        """Return the offsets of groups, their members, and the place of each member in `removed`.

        The first member of a group is kept, and its place is -1.  Groups whose first member is in a
        reference precede the others.  `order`: the documents, the preferred first, which is also
        the order of groups and members; None for the order of the input.
        """
        places = np.arange(len(self.removed))
        leading, going = self.leaders, self.removed
        if order is not None:
            rank = np.empty(int(order.max(initial=-1)) + 1, np.int64)
            rank[order] = np.arange(len(order))
            leading, going = by_table(rank, leading), rank[going]
        leading = _in_order(leading)
        by_group = np.lexsort((going, leading))
        leaders, firsts = np.unique(leading[by_group], return_index=True)
        sizes = np.diff(firsts, append=len(by_group))
        stays = _in_order(leaders)
        if order is not None:
            stays = by_table(order, stays)
        members = np.insert(self.removed[by_group], firsts, stays)
        return offsets_of(sizes + 1), members, np.insert(places[by_group], firsts, -1)


def by_table(table: I64, positions: I64) -> I64:
    """Return the entries of a table at positions; positions below 0, of a reference, are kept."""
    found = positions.copy()
    is_own = positions >= 0
    found[is_own] = table[positions[is_own]]
    return found


def joined(parts: Sequence[I64]) -> I64:
    """Return the positions of all parts as one array."""
    return np.concatenate([np.empty(0, np.int64), *parts])


def _in_order(leaders: I64) -> I64:
    """Return sort keys for leaders: documents of a reference (-1, -2, ...) precede all others.

    A second call restores the leaders.
    """
    return np.where(leaders < 0, np.iinfo(np.int64).min - leaders, leaders)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The removed rows, and how to read and judge them again.

    `removed`, `staying` int64[k]: each duplicate, and the row that is kept for it.  The latter is
    below 0 for a document of a reference, and -1 for a stored document.  `texts` returns the texts
    at given positions of both kinds.  `least`: the threshold of similarity, None if rows matched by
    distance.  `again` returns the result with only the flagged duplicates removed: bool[k].
    `refusal`: why that is impossible, or "".  `sketch`: how texts are read, None if unknown.
    """

    removed: I64
    staying: I64
    texts: Callable[[I64], Any]
    least: float | None
    again: Callable[[Bools], Any]
    refusal: str = ""
    sketch: TextSketch | None = None

    def pairs(self, ids: Any, others: Any, similarities: F32, lost: I64 | None) -> "list[TextPair]":
        """Return the least similar pairs with their texts, for a page.

        `ids` and `others` object[k]: the ids of the duplicates, and of the rows kept for them.
        `lost`: see `Decided`.
        """
        return report.page.nearest_pairs(
            similarities,
            lambda places: (ids[places], others[places]),
            lambda places: (
                texts_at(self.texts, self.removed[places]),
                texts_at(self.texts, self.staying[places]),
            ),
            self.sketch, lost,
        )  # fmt: skip

    def check_stricter(self, similarity: float) -> None:
        """Raise OptionError unless a higher similarity can be applied without a new search."""
        if self.refusal:
            raise OptionError(self.refusal)
        if self.least is None:
            raise OptionError(
                "at() judges by similarity, and these rows matched by distance; deduplicate again"
                " with similarity="
            )
        if similarity < self.least:
            raise OptionError(
                f"at() takes a similarity of at least {self.least:g}, by which rows were removed,"
                f" got {similarity:g}; deduplicate again to find less similar rows"
            )


def texts_at(texts: Callable[[I64], Any], rows: I64) -> list[Any]:
    """Return the texts of rows; `texts` is called with distinct rows, ascending."""
    distinct, places = np.unique(rows, return_inverse=True)
    found = list(texts(distinct))
    return [found[place] for place in places.tolist()]


def least_of(
    question: DedupQuestion, verification: Verification | None, usual: float | None
) -> float | None:
    """Return the threshold of similarity; None if documents match by a distance alone.

    `usual`: the threshold of estimates if the question has none, None if unknown.
    """
    if verification is not None:
        return verification.least
    has_bound = question.similarity is not None or question.distance is not None
    return question.similarity if has_bound else usual


def refusal_of(policy: str, *, has_database: bool = False) -> str:
    """Return why a result cannot be made stricter without a new search; "" if it can."""
    if has_database:
        return (
            "at() does not work with db=, which has not stored the rows that would be kept again;"
            " deduplicate again with a higher similarity="
        )
    if policy != database.STAR:
        return (
            f"at() needs policy='star', where each removed row matches the row that stays; with"
            f" policy={policy!r} deduplicate again with a higher similarity="
        )
    return ""
