"""Command tune: advises on the sketch and the threshold for some documents."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import simdb
from simdb import core, files, sketch as sketching
from simdb.cli.options.declare import Natural
from simdb.cli.options.intake import Intake
from simdb.cli.options.option_groups import TextOptions
from simdb.cli.output.progress import Progress
from simdb.cli.output.render import in_words, is_table, print_one, print_text, quantity
from simdb.core.choices import MarkupName
from simdb.core.errors import InputError

JSON_LINES = (".jsonl", ".ndjson")
LABELS = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}
FIELDS = ("left", "right", "label")


class JudgedPair(NamedTuple):
    """The ids of two documents, as text, and whether they are duplicates."""

    left: str
    right: str
    label: bool


def read_judged_pairs(path: str) -> list[JudgedPair]:
    """Read pairs from a .csv, .jsonl or .ndjson file; any other file is tab-separated.

    A first line without a valid label is a heading.  A line of JSON is an array, or an object with
    the fields left, right and label.  Raises InputError, with the line, for an invalid pair.
    """
    text = files.read_file(path, core.decoding.known_encoding("utf-8"), "strict")
    name = path.lower()
    rows = _json_rows(path, text) if name.endswith(JSON_LINES) else _table_rows(name, text)
    pairs = []
    for number, row in rows:
        label = LABELS.get(str(row[2]).strip().lower()) if len(row) == len(FIELDS) else None
        if label is not None:
            pairs.append(JudgedPair(str(row[0]), str(row[1]), label))
        elif number > 1 or len(row) < len(FIELDS):
            raise InputError(
                f"{path}:{number}: a judged pair is id, id and label (1 or 0, true or false), not"
                f" {str(row)[:80]}"
            )
    return pairs


def _table_rows(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    is_commas = name.endswith(".csv")
    lines = csv.reader(
        text.splitlines(), delimiter="," if is_commas else "\t",
        quoting=csv.QUOTE_MINIMAL if is_commas else csv.QUOTE_NONE,
    )  # fmt: skip
    return ((lines.line_num, row) for row in lines if row)


def _json_rows(path: str, text: str) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: this is not JSON: {error}") from error
        if isinstance(value, dict):
            value = [value.get(field) for field in FIELDS]
        if not isinstance(value, list) or len(value) != len(FIELDS):
            raise InputError(
                f"{path}:{number}: a judged pair is an array [id, id, label], or an object with the"
                f" fields {', '.join(FIELDS)}"
            )
        yield number, value


def tune(
    sources: list[str],
    *,
    pairs: str | None = None,
    blocking: bool | None = None,
    markup: MarkupName | None = None,
    seed: Natural = 0,
    inputs: TextOptions,
) -> None:
    """Advise on unit, shingle, weighting and threshold for documents, by a sample of them."""
    reading = inputs.reading()
    files.check_sources(sources, reading)
    judged = [] if pairs is None else read_judged_pairs(pairs)
    own_files = [] if pairs is None else [pairs]
    with Progress("reading") as progress:
        intake = Intake.of(sources, reading, progress, excluded=own_files)
        drawn, named = _read(intake, {id for pair in judged for id in pair[:2]}, seed)
        progress.begin("comparing sketches")
        texts = None if pairs is None else _texts_of(judged, named, pairs)
        labels = None if pairs is None else [pair.label for pair in judged]
        documents = max(intake.documents, 1)
        advice = simdb.tune(
            drawn, texts, labels, blocking=blocking, documents=documents, markup=markup, seed=seed
        )
    _print(advice)
    intake.end()


def _read(intake: Intake, wanted: Collection[str], seed: int) -> tuple[list[str], dict[str, str]]:
    """Read all documents; return up to `FITTED_TEXTS` random texts, and texts of `wanted` ids."""
    drawn, named = sketching.DrawnTexts(sketching.FITTED_TEXTS, seed), {}
    # The sketch is only for a hint on mark-up, which this command gives in its own words.
    for batch in intake.batches(simdb.Simhash(markup="html")):
        drawn.add(batch.ids, batch.texts)
        for at, id in enumerate(batch.ids if wanted else ()):
            if str(id) in wanted:
                named[str(id)] = sketching.as_text(batch.texts[at], str(id))
    return drawn.texts, named


def _texts_of(
    judged: Sequence[JudgedPair], named: dict[str, str], path: str
) -> list[tuple[str, str]]:
    """Return the texts of judged pairs; raise InputError for an id without a document."""
    missing = sorted({id for pair in judged for id in pair[:2]} - named.keys())
    if missing:
        raise InputError(
            f"{path}: the sources lack {quantity(len(missing), 'document')} of the pairs, such as"
            f" {missing[0]!r}"
        )
    return [(named[pair.left], named[pair.right]) for pair in judged]


def _print(advice: simdb.SketchAdvice) -> None:
    """Print the advice: a table and the reasons for people, or one line of JSON."""
    row = advice.as_dict()
    if not is_table():
        print_one(row)
        return
    shown = row["commands"] | {name: row[name] for name in ("measure", "words", "texts", "pairs")}
    shares = {"precision": advice.precision, "recall": advice.recall}
    print_one(shown | {name: str(share) for name, share in shares.items() if share is not None})
    print()
    for reason in advice.reasons:
        print_text(f"* {in_words(reason)}")
