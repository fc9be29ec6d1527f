"""Commands stats, check and doctor: show numbers about a database, damage and advice."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import simdb
from simdb import core, database as databases, files, storage
from simdb.cli import output
from simdb.cli.options.opening import open_either
from simdb.cli.output import render
from simdb.cli.output.render import is_table, print_one, print_rows, quantity

UTC = "%Y-%m-%dT%H:%M:%SZ"
# The seconds of each unit, the longest first.
AGES = (
    (365 * 86_400, "year"), (30 * 86_400, "month"), (86_400, "day"), (3_600, "hour"),
    (60, "minute"), (1, "second"),
)  # fmt: skip
# Values shown per field, the most frequent ones.
SHOWN_VALUES = 20
ADVICE_COLUMNS = ("topic", "message", "reason", "remedy")


def stats(db: str, *, all: bool = False) -> None:
    """Show what a database holds, its size and age, and what to do."""
    with open_either(db) as database:
        numbers = database.stats()
        if all or not is_table() or isinstance(numbers, simdb.ShardedStatistics):
            times = {name: getattr(numbers, name, None) for name in ("oldest_time", "newest_time")}
            shown = {name: f"{each:{UTC}}" for name, each in times.items() if each is not None}
            row = asdict(numbers) | shown
            for each in (row, *row.get("shards", ())):
                each["fields"] = _biggest(each["fields"])
            print_one(row)
            return
        assert isinstance(database, simdb.Database)
        advice = [f"{each.remedy} ({each.message})" for each in database.advice()]
        output.terminal.print_fields([*_summary(numbers, database.options), *_to_do(advice)])


def check(db: str, *, deep: bool = False) -> None:
    """Look for damage in a database, and say how to repair it."""
    if print_rows(_findings(db, deep), ("place", "message", "remedy")):
        raise render.Exit(render.FINDINGS)
    note = "no problem found" if deep else "no problem found; --deep makes every table again"
    print(note, file=sys.stderr)


def doctor(db: str) -> None:
    """Give advice on a database; change nothing."""
    if print_rows(_advice(db), ADVICE_COLUMNS):
        raise render.Exit(render.FINDINGS)
    print("no advice; to look for damage, run simdb check", file=sys.stderr)


def _summary(numbers: simdb.Statistics, options: simdb.Options) -> Iterator[tuple[str, str]]:
    """Yield names and values for people."""
    yield "database", numbers.path
    yield "documents", _documents(numbers, has_weights=not options.is_hashes)
    yield "size", _size(numbers)
    yield from _times(numbers.path)
    yield from _document_times(numbers, options)
    yield "distance" if options.is_hashes else "similarity", _matching(options)
    has_bare = numbers.bare_count > 0 or not options.sketch.vector_bytes
    if has_bare and not (options.is_minhash or options.is_hashes):
        yield "distance", f"{quantity(options.distance, 'bit')} or fewer match, without weights"
    yield "sketch", _sketch(options)
    if numbers.largest_group > 1:
        kind = "hash" if options.is_hashes else "fingerprint"
        kind = "signature" if isinstance(options.sketch, simdb.Minhash) else kind
        count = quantity(numbers.largest_group, "document")
        yield "largest group", f"{count} with the same {kind}"
    yield from _biggest(numbers.fields).items()
    if numbers.cluster_count is not None:
        yield "clusters", f"{numbers.cluster_count:,} of two or more documents"
    if numbers.calibrated_count is not None:
        covered = quantity(numbers.calibrated_count, "document")
        yield "calibration", f"covers {covered} of {numbers.document_count:,}"
    yield "readers", _readers(numbers)


def _biggest(fields: core.reports.FieldCounts) -> files.Row:
    """Return the most frequent values of fields: lists, or texts for people."""
    biggest = {name: counts[:SHOWN_VALUES] for name, counts in fields.items()}
    if not is_table():
        return biggest
    more = {name: len(counts) - len(biggest[name]) for name, counts in fields.items()}
    return {
        name: ", ".join(f"{render.cell(repr(value))} {count:,}" for value, count in counts)
        + (f" and {quantity(more[name], 'other value')}" if more[name] else "")
        for name, counts in biggest.items()
    }


def _documents(numbers: simdb.Statistics, *, has_weights: bool) -> str:
    counts = {
        "without features": numbers.empty_count,
        "without weights": numbers.bare_count * has_weights,
        "deleted and not compacted yet": numbers.deleted_count,
    }
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    return f"{numbers.document_count:,}" + (f" ({', '.join(parts)})" if parts else "")


def _size(numbers: simdb.Statistics) -> str:
    shown = core.previews.size(numbers.file_bytes)
    if numbers.file_bytes > numbers.live_bytes:
        shown += f", {core.previews.size(numbers.live_bytes)} of it in use"
    if numbers.document_count:
        each = numbers.live_bytes / numbers.document_count
        shown += f"; {each:,.0f} bytes a document"
    return shown


def _times(path: str) -> Iterator[tuple[str, str]]:
    """Yield the times when the database was created at this place, and last written."""
    now = time.time()
    created, written = storage.file_times(path)
    if created is not None:
        yield "created", time_and_age(created.timestamp(), now)
    yield "last write", time_and_age(written.timestamp(), now)


def _document_times(numbers: simdb.Statistics, options: simdb.Options) -> Iterator[tuple[str, str]]:
    """Yield the times when the first and last document were inserted or seen, if known."""
    first, last = numbers.oldest_time, numbers.newest_time
    if first is not None and last is not None:
        now = time.time()
        name = "last seen" if options.keep_times == core.options.SEEN else "inserted"
        moments = (time_and_age(each.timestamp(), now) for each in (first, last))
        yield name, " to ".join(moments)


def _matching(options: simdb.Options) -> str:
    found = f"{100 * options.recall:.4g}%"
    least = f"{options.similarity:.4g} or more is a match ({options.measure})"
    if options.is_hashes:
        least = f"{quantity(options.distance, 'bit')} or fewer match"
    return f"{least}; a search finds {found} of the matches"


def _sketch(options: simdb.Options) -> str:
    """Return the kind of sketch, and the options that differ from their defaults."""
    if options.is_hashes:
        return f"hashes of {options.bits} bits"
    kind: Any = type(options.sketch)
    name = "MinHash signatures" if kind is simdb.Minhash else "fingerprints"
    words = [f"{name} of {options.sketch.unit} in shingles of {options.sketch.shingle}"]
    for option, value in core.text_sketch.differing_options(options.sketch, kind()).items():
        if option not in ("idf", "unit", "shingle") and value != "":
            words.append(f"{option.replace('_', '-')} {value}")
    return ", ".join(words)


def _readers(numbers: simdb.Statistics) -> str:
    others = [each for each in numbers.readers if each.process != os.getpid()]
    if not others:
        return "none"
    shown = [
        f"process {each.process}" + (f", {quantity(each.lag, 'commit')} behind" if each.lag else "")
        for each in others
    ]
    return "; ".join(shown)


def _to_do(advice: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the advice on what to do, one field for each."""
    if not advice:
        yield "to do", "nothing; simdb check looks for damage"
    for at, each in enumerate(advice):
        yield "" if at else "to do", render.in_words(each)


def time_and_age(moment: float, now: float) -> str:
    """Return a moment, in seconds since 1970, as local time and its age: `(3 days ago)`."""
    shown = time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    return f"{shown} ({age_in_words(now - moment)})"


def age_in_words(seconds: float) -> str:
    """Return an age in words, in the largest unit that it reaches."""
    for length, unit in AGES:
        count = int(seconds / length)
        if count >= 1:
            return f"{quantity(count, unit)} ago"
    return "just now"


def _findings(db: str, deep: bool) -> Iterator[files.Row]:
    try:
        with open_either(db) as database:
            yield from (render.row_in_words(asdict(finding)) for finding in database.check(deep))
    except simdb.CorruptError as error:
        message = str(error).removesuffix(f"; {storage.REMEDY}")
        row = {"place": "database", "message": message, "remedy": storage.REMEDY}
        yield render.row_in_words(row)


def _advice(db: str) -> Iterator[files.Row]:
    # A database on a network file system cannot be opened, as its memory maps are unsafe there.
    if os.path.isdir(db) and storage.file_system(db) in storage.NETWORK_TYPES:
        yield from map(_advice_row, databases.maintenance.advice.advice_on_place(db))
        return
    with open_either(db) as database:
        yield from map(_advice_row, database.advice())


def _advice_row(advice: simdb.Advice) -> files.Row:
    return render.row_in_words(asdict(advice))
