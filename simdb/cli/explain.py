"""Command explain: shows why two documents match or do not match."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from textwrap import fill
from typing import Annotated, Any

import simdb
from simdb import core, files, jobs, sketch as sketching, storage
from simdb.cli.options.declare import Natural
from simdb.cli.options.opening import open_either
from simdb.cli.options.option_groups import SearchOptions, given_ids
from simdb.cli.options.sketch_options import SketchOptions, allowed, check_given, make_sketch
from simdb.cli.output import render
from simdb.core.choices import ErrorsName

BIT_COLUMNS = ("bit", "weights", "ranks", "volatility", "moved_by")
FEATURE_COLUMNS = ("feature", "left", "right")
# Fields about the tables of a search, which are shown to people with --bits.
SEARCH_FIELDS = ("tables", "table_count", "flips", "probe", "probability")
VERDICT_FIELDS = (
    "left", "right", "distance", "similarity", "is_match", "is_found", "reason", "tables",
    "table_count", "flips", "probe", "probability",
)  # fmt: skip
MINHASH_FIELDS = ("agreeing", "permutations")
WIDTH = 100  # of a paragraph, in characters
# Marks around words in both texts, in only one of them, and in place of omitted words.
MARKS = {
    "same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}"), "gap": ("", " ... "),
}  # fmt: skip


def explain(
    names: Annotated[list[str], "[DB] A B"],
    chosen: SketchOptions,
    *,
    document: str | None = None,
    wanted: SearchOptions,
    bits: Natural | None = None,
    features: Natural = 20,
    int_ids: bool = False,
    encoding: str = "utf-8",
    errors: ErrorsName = "strict",
    allow: list[str] | None = None,
) -> None:
    """Explain why two documents match or do not: what differs."""
    sketch, has_bits = chosen.given(bits or None), bits is not None
    decoded_as = core.decoding.known_encoding(encoding)
    db, named = _settled(names, document)
    if db is None:
        texts = [files.read_file(path, decoded_as, errors) for path in named]
        given = make_sketch(sketch)
        if isinstance(given, simdb.Bits):
            texts = [each.strip() for each in texts]
        found = _explained(named, texts, given, wanted)
        if render.is_table() and not isinstance(given, simdb.Bits):
            print(words_in_line(*sketching.as_read(texts, given)), end="\n\n")
        print_explanation(found, (named[0], named[1]), features, has_bits=has_bits, hash_bits=bits)
        return
    ids = given_ids(named, int_ids)
    with open_either(db, allowed(sketch, allow)) as database:
        options = database.options
        check_given(sketch, options.sketch, db)
        text = None
        if document is not None:
            text = files.read_file(document, decoded_as, errors)
            text = text.strip() if options.is_hashes else text
            render.print_note(files.markup_hint(text, document, options.sketch))
        found = database.explain(*ids, document=text, errors=errors, **wanted.criterion)
    called = named[0], [*named, document or ""][1]
    hash_bits = options.bits if options.is_hashes else None
    print_explanation(found, called, features, has_bits=has_bits, hash_bits=hash_bits)


def _explained(
    paths: list[str], texts: list[str], sketch: core.options.AnySketch, wanted: SearchOptions
) -> simdb.Explanation:
    """Explain the texts of two files."""
    hints = (files.markup_hint(text, path, sketch) for path, text in zip(paths, texts, strict=True))
    render.print_note(next(filter(None, hints), None))
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as empty:
        return empty.explain(
            document=texts[0], other_document=texts[1],
            similarity=wanted.similarity, distance=wanted.distance,
        )  # fmt: skip


def _settled(names: list[str], document: str | None) -> tuple[str | None, list[str]]:
    """Return the database, None for two files, and the names of the two documents."""
    is_database = os.path.lexists(os.path.join(names[0], storage.DATA_FILE))
    if len(names) <= 2 and document is None and not is_database:
        if len(names) != 2 or names == [files.STANDARD_INPUT, files.STANDARD_INPUT]:
            raise simdb.OptionError(
                "explain needs two files, only one of them -; or a database and the ids of two"
                " documents: simdb explain DB A B"
            )
        return None, names
    db, names = names[0], names[1:]
    if len(names) != (2 if document is None else 1):
        raise simdb.OptionError(
            f"after the database {db}, explain needs the ids of two documents, or one id and"
            f" --document FILE; got {render.quantity(len(names), 'id')}"
        )
    return db, names


def words_in_line(left: str, right: str) -> str:
    """Return an excerpt of two texts as one paragraph, with the words that differ marked."""
    pieces, _ = jobs.compared(left, right)
    found = []
    for piece in pieces:
        opening, closing = MARKS[piece.kind]
        text = piece.text.rstrip()
        found.append(f"{opening}{text}{closing}{piece.text[len(text) :]}")
    return fill(render.plain("".join(found)), WIDTH, break_long_words=False, break_on_hyphens=False)


def print_explanation(
    explanation: simdb.Explanation,
    names: tuple[str, str],
    limit: int,
    *,
    has_bits: bool,
    hash_bits: int | None = None,
) -> None:
    """Print an explanation of two documents, called `names`, with at most `limit` features.

    `has_bits`: whether a table for people shows bits, and how a search goes through the tables.
    `hash_bits`: the bits of documents that are hashes.
    """
    positions = [bit.position for bit in explanation.bits]
    differing = f"{sum(1 << each for each in positions):0{(hash_bits or 0) // 4}x}"
    if not render.is_table():
        row = _whole_row(explanation, names, limit)
        render.print_one(row | {"bits": positions, "xor": differing} if hash_bits else row)
        return
    summary = _summary(explanation, names)
    hidden = () if has_bits else SEARCH_FIELDS
    render.print_one({name: value for name, value in summary.items() if name not in hidden})
    if explanation.features:
        print()
        rows = map(_feature_row, explanation.features[:limit])
        render.print_rows(rows, FEATURE_COLUMNS)
    if hash_bits:
        print(f"\nxor        {differing}\ndiffering  {', '.join(map(str, positions)) or 'none'}")
    elif explanation.bits and has_bits:
        print()
        render.print_rows(map(_bit_in_words, explanation.bits), BIT_COLUMNS)


def _whole_row(explanation: simdb.Explanation, names: tuple[str, str], limit: int) -> files.Row:
    features = explanation.features
    return {
        **_verdict(explanation, names),
        "bits": [_bit_row(bit) for bit in explanation.bits],
        "features": None if features is None else [_feature_row(each) for each in features[:limit]],
        **_counts(explanation),
    }


def _summary(explanation: simdb.Explanation, names: tuple[str, str]) -> files.Row:
    row = _verdict(explanation, names)
    tables = ", ".join(map(str, explanation.tables)) or "none"
    row["probe"] = _probe_in_words(explanation.probe)
    agree = "have equal leading bits" if explanation.agreeing is None else "bands agree"
    row["tables"] = f"{tables} of {explanation.table_count} {agree}"
    if explanation.probability is not None:
        row["probability"] = f"{explanation.probability:.3g}"
    return row | _counts(explanation)


def _verdict(explanation: simdb.Explanation, names: tuple[str, str]) -> files.Row:
    """Return the fields of an explanation about the pair as a whole."""
    whole = asdict(replace(explanation, bits=(), features=None, plan=None))
    shown = (*VERDICT_FIELDS, *(() if explanation.agreeing is None else MINHASH_FIELDS))
    sides = zip(("left", "right"), names, strict=True)
    return {name: whole[name] for name in shown} | {
        "similarity": render.rounded(explanation.similarity),
        **{side: name if whole[side] is None else whole[side] for side, name in sides},
    }


def _probe_in_words(probe: simdb.Probe | None) -> str | None:
    if probe is None:
        return None
    if probe.vertices:
        return f"table {probe.table}, other vertices: {probe.vertices}"
    flipped = ", ".join(map(str, probe.flipped)) or "none"
    return f"table {probe.table}, flipped bits: {flipped}"


def _counts(explanation: simdb.Explanation) -> files.Row:
    """Return the numbers of features only left, only right, weighted differently and shared."""
    features = explanation.features
    if features is None:
        return {}
    if any(each.left is None or each.right is None for each in features):
        return {"document_features": len(features)}
    return {
        "left_only": sum(not each.right for each in features),
        "right_only": sum(not each.left for each in features),
        "reweighted": sum(bool(each.left and each.right) for each in features),
        "shared": explanation.shared_count,
    }


def _bit_row(bit: simdb.DifferingBit) -> files.Row:
    return {
        "bit": bit.position,
        "left_weight": bit.left_weight,
        "right_weight": bit.right_weight,
        "left_rank": bit.left_rank,
        "right_rank": bit.right_rank,
        "left_volatility": render.rounded(bit.left_volatility),
        "right_volatility": render.rounded(bit.right_volatility),
        "moved_by": [
            {"feature": each.shingle, "by": each.moves(bit.position)} for each in bit.features
        ],
    }


def _feature_row(feature: simdb.FeatureDifference) -> files.Row:
    shown = {"hash": f"0x{feature.hash:016x}", "left": feature.left, "right": feature.right}
    return {"feature": feature.shingle, **shown}


def _bit_in_words(bit: simdb.DifferingBit) -> files.Row:
    moved = [f"{each.shingle} ({each.moves(bit.position):+.4g})" for each in bit.features]
    return {
        "bit": bit.position,
        "weights": _change(bit.left_weight, bit.right_weight, "+.4g"),
        "ranks": _change(bit.left_rank, bit.right_rank, "d"),
        "volatility": _change(bit.left_volatility, bit.right_volatility, ".2f"),
        "moved_by": moved,
    }


def _change(left: Any, right: Any, form: str) -> str:
    """Return the left and the right value with an arrow between, `?` for None."""
    shown = ["?" if each is None else format(each, form) for each in (left, right)]
    return " \u2192 ".join(shown)
