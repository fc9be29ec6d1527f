"""Search: how to search, for who knows better than the planner; the `search=` of all verbs."""

from dataclasses import dataclass, fields
from typing import TypeAlias, cast

from simdb.core.checks import shown
from simdb.core.choices import MethodName
from simdb.core.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How to search: a method, and what it lets an expert set; None leaves it to the planner.

    `method`: "exhaustive", "polytope", "bphs", "psm", "multiprobe", "rotation" (pairs only) or, of
    MinHash signatures, "banding".  A verb also takes the name alone: `search="psm"`.

    `attempts`: of "psm" and "multiprobe", how many headers of each table are looked up beside the
    one of the query: the first in the order of `simdb.vosh`, with at most as many flipped bits as a
    match may have (Sood & Loguinov 2011, section 4).  It replaces `recall`.  `header_bits`: of
    these two, the most bits of a header.

    `rotations`: of "rotation", in how many orders all fingerprints are sorted, 1 to 64; neighbours
    are then compared.  None takes as many orders as the recall needs.

    `memory_limit`: bytes for a batch of queries.  Stored runs then pass through memory in chunks,
    so the database may be larger; 64 queries and 512 documents are held at least.  None: runs do so
    only if the database is larger than the memory of this process and that is faster, with a
    quarter of that memory.  Not counted are the ids, the documents of an insertion (some 30 bytes
    each, and the weights), the commit and the matches.

    A verb that cannot follow one of them raises OptionError.
    """

    method: MethodName | None = None
    attempts: int | None = None
    header_bits: int | None = None
    rotations: int | None = None
    memory_limit: int | None = None


SearchLike: TypeAlias = MethodName | Search
NAMES = tuple(field.name for field in fields(Search))
# What a query can follow, what a batch of queries can, and what a search for pairs can.
OF_QUERIES = ("method", "attempts", "header_bits")
OF_BATCHES = (*OF_QUERIES, "memory_limit")
OF_PAIRS = (*OF_QUERIES, "rotations")
DEFAULT = Search()


def search_of(given: object, follows: tuple[str, ...] = NAMES) -> Search:
    """Return the `search=` of a verb as a `Search`; OptionError unless the verb `follows` it."""
    if given is None:
        return DEFAULT
    if isinstance(given, str):
        return Search(method=cast(MethodName, given))  # which is checked with the options
    if not isinstance(given, Search):
        raise OptionError(
            "search must be the name of a method, such as 'psm', or simdb.Search(method=...), got"
            f" {shown(given)}"
        )
    for name in NAMES:
        if name not in follows and getattr(given, name) is not None:
            raise OptionError(
                f"{name}= of simdb.Search does not apply to this verb, which follows"
                f" {', '.join(follows)}; leave it out"
            )
    return given
