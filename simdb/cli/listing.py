"""Commands clusters and pairs: show or write the stored documents that match each other.

The ending of the name of a file determines its format: Parquet, Arrow, JSON lines, CSV or TSV.  The
file gets its name when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isnan
from typing import Any

import simdb
from simdb import files
from simdb.cli.options import option_groups
from simdb.cli.options.declare import Positive
from simdb.cli.options.opening import open_either
from simdb.cli.options.sketch_options import SketchOptions, check_given
from simdb.cli.options.texts import Shown, TextsOfIds, check_keep, own_texts, stored_texts
from simdb.cli.output.render import in_words, print_note, rounded, verification_note
from simdb.core.choices import PolicyName, VerifyName
from simdb.core.values import dataclass

# Columns of a table on a terminal, columns that --show appends, and columns of a file.
CLUSTERS = ("representative", "size", "ids"), ("texts",), ("id", "representative", "cluster")
MEASURED = ("left", "right", "distance", "similarity")
CONTAINED = (*MEASURED, "containment")
PAIR_TEXTS = ("left_text", "right_text")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOptions(option_groups.SearchOptions):
    """The options about matching stored documents, their texts and the output."""

    where: list[str] | None = None
    output: str | None = None
    text_ids: bool = False
    show: Positive | None = None
    texts: list[str] | None = None
    verify: VerifyName | None = None
    bits: int | None = None

    def check(self, db: str) -> None:
        """Raise OptionError for --show with --output, or an unknown ending of the output."""
        if self.show is not None and self.output is not None:
            raise simdb.OptionError(
                "--show does not apply to --output, whose rows have no texts; leave out one of the"
                " two"
            )
        files.check_outputs({"--output": self.output}, (), {"in --texts": self.texts}, [db])
        if self.output is not None:
            files.output_format(self.output, "--output")

    def check_texts(self, options: simdb.Options) -> None:
        """Raise OptionError if --show or --verify needs texts, and there are none."""
        known = (None, "estimate", "exact") if options.features else (None, "estimate")
        needs = "--show N" if self.show is not None else f"--verify {self.verify}"
        is_needed = self.show is not None or self.verify not in known
        if is_needed and self.texts is None and not options.texts:
            raise simdb.OptionError(
                f"{needs} needs --texts SOURCE: this database has no texts, so they are read from"
                " their source"
            )

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as arguments of a verb, except for the texts."""
        where = None if self.where is None else option_groups.given_condition(self.where)
        return {**self.criterion, "where": where}

    def deciding(self, texts: TextsOfIds | None) -> dict[str, Any]:
        """Return the arguments of a verb that let texts verify matches, not only be shown."""
        by_distance = self.distance is not None and self.similarity is None
        if self.verify is None and (texts is None or by_distance):
            return {}
        texts = None if self.verify == "estimate" else texts
        return {"verify": self.verify or "exact", "texts": texts}


def clusters(
    db: str,
    *,
    wanted: StoredOptions,
    policy: PolicyName = "connected",
    keep: str = "first",
    listing: option_groups.ListingOptions,
    inputs: option_groups.ReadingOptions,
) -> None:
    """Show the groups of stored documents that match, the representative of each first."""
    check_keep(keep)
    with _opened(db, wanted, inputs) as (database, texts):
        found = database.find_clusters(
            **wanted.arguments, policy=policy, keep=keep, **wanted.deciding(texts)
        )
        rows = (
            {"representative": each.representative, "size": len(each), "ids": each.ids}
            for each in found
        )
        has_found = _list(wanted, listing, CLUSTERS, found, rows, texts or own_texts(database))
    listing.end(has_found=has_found)


def pairs(
    db: str,
    *,
    wanted: StoredOptions,
    contained: float | None = None,
    explain: bool = False,
    listing: option_groups.ListingOptions,
    inputs: option_groups.ReadingOptions,
) -> None:
    """Show all pairs of stored documents that match."""
    with _opened(db, wanted, inputs) as (database, texts):
        columns: tuple[str, ...] = MEASURED
        deciding = wanted.deciding(texts)
        if contained is not None:
            columns = CONTAINED
            deciding = {"contained": contained, "texts": texts, "verify": wanted.verify}
        found = database.find_all(**wanted.arguments, **deciding)
        if explain:
            plan = found.plan
            reason = in_words(plan.reason)
            print_note(f"{plan.method}, recall {plan.recall:.4g}: {reason}")
        ways = columns, PAIR_TEXTS, columns
        texts = texts or own_texts(database)
        has_found = _list(wanted, listing, ways, found, _pair_rows(found), texts)
    listing.end(has_found=has_found)


@contextmanager
def _opened(
    db: str, wanted: StoredOptions, inputs: option_groups.ReadingOptions
) -> Iterator[tuple[simdb.Database | simdb.ShardedDatabase, TextsOfIds | None]]:
    """Check the options; yield the database, and the function that finds texts of --texts."""
    wanted.check(db)
    with open_either(db) as database:
        sketch = database.options.sketch
        check_given(SketchOptions().given(wanted.bits), sketch, db)
        if wanted.texts is not None and database.options.is_hashes:
            raise simdb.OptionError("--texts names texts, and hashes have none; leave it out")
        wanted.check_texts(database.options)
        with stored_texts(wanted.texts, inputs, sketch) as texts:
            yield database, texts


def _pair_rows(found: simdb.Pairs) -> Iterator[files.Row]:
    for pair in found:
        measured = {"distance": pair.distance, "similarity": rounded(pair.similarity)}
        if pair.containment is not None:
            measured["containment"] = rounded(pair.containment)
        yield {"left": pair.left, "right": pair.right, **measured}


def _list(
    wanted: StoredOptions,
    listing: option_groups.ListingOptions,
    columns: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    found: simdb.Pairs | simdb.Clusters,
    rows: Iterable[files.Row],
    texts: TextsOfIds | None,
) -> bool:
    """Write the findings to --output, or show their rows; return whether there are any."""
    shown, of_texts, in_file = columns
    if wanted.output is not None:
        has_found = _export(found, wanted.output, in_file, text_ids=wanted.text_ids)
    else:
        if texts is not None and wanted.show is not None:
            rows, shown = Shown(rows, texts, wanted.show), shown + of_texts
        has_found = listing.show(rows, shown)
        listing.note(None if has_found else "nothing matches")
    listing.note(verification_note(found.verification))
    return has_found


def _export(
    found: simdb.Pairs | simdb.Clusters, path: str, columns: Sequence[str], *, text_ids: bool
) -> bool:
    """Write all rows, with these `columns`, to the file `path`; return whether there are any."""
    form = files.output_format(path, "--output")
    with files.written(path, form) as target:
        if form.has_types:
            files.write_batches(found.to_batches(ids="text" if text_ids else "auto"), target)
        else:
            files.write_cells(columns, _rows(found), target)
    print_note(target.note("nothing matches"))
    return target.rows > 0


def _rows(found: simdb.Pairs | simdb.Clusters) -> Iterator[tuple[Any, ...]]:
    for chunk in found.column_chunks():
        yield from zip(*(map(_plain, each.tolist()) for each in chunk.values()), strict=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else rounded(value)
    return value
