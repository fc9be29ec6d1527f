"""Command query: shows the stored documents that match one document."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import simdb
from simdb import core, files
from simdb.cli import options
from simdb.cli.options import option_groups
from simdb.cli.options.opening import open_either
from simdb.cli.output.render import is_table, match_row, print_note, print_rows
from simdb.core.choices import ErrorsName, FormatName
from simdb.core.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(option_groups.SearchOptions):
    """The options of `simdb query` about the search."""

    limit: int | None = None
    nearest: int | None = None
    contained: float | None = None
    texts: list[str] | None = None
    where: list[str] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table of matches."""
        return ("id", "distance", "similarity", *["containment"] * (self.contained is not None))

    def check(self) -> None:
        """Raise OptionError for options that do not apply together."""
        names = ("similarity", "distance", "search", "limit", "contained", "texts")
        option_groups.check_nearest(
            self.nearest, {f"--{name}": getattr(self, name) for name in names}
        )
        if self.texts is not None and self.contained is None:
            raise simdb.OptionError("--texts measures --contained SHARE, which is not given")

    def found(
        self,
        database: simdb.Database | simdb.ShardedDatabase,
        document: Any,
        id: Any,
        errors: Any,
        texts: Any,
    ) -> list[simdb.Match]:
        """Return the matches of a document, or of the stored document `id`, in a database."""
        where = option_groups.given_where(self.where, database.options.fields)
        if self.nearest is not None:
            return database.nearest(
                document, self.nearest, id=id, recall=self.recall, errors=errors, where=where
            )
        asked = self.criterion
        if self.contained is not None:
            asked |= {"contained": self.contained, "texts": texts}
        return database.query(
            document, id=id, limit=self.limit, errors=errors, where=where, **asked
        )


def query(
    db: str,
    text: str | None = None,
    *,
    file: str | None = None,
    id: str | None = None,
    fingerprint: str | None = None,
    asked: QueryOptions,
    bits: int | None = None,
    base64: bool = False,
    int_ids: bool = False,
    format: FormatName | None = None,
    encoding: str = "utf-8",
    errors: ErrorsName = "strict",
    allow: list[str] | None = None,
) -> None:
    """Show the stored documents that match a text, a file, a stored document or a fingerprint."""
    if [text, file, id, fingerprint].count(None) != 3:
        raise simdb.OptionError(
            "query needs exactly one of TEXT, -, --file, --id and --fingerprint"
        )
    if text is not None and os.path.isfile(text):
        raise simdb.OptionError(
            f"TEXT is the name of a file; --file {text} searches for what the file holds, and to"
            " search for its name, write it to standard input: echo NAME | simdb query DB -"
        )
    asked.check()
    document = _document(text, file, fingerprint, encoding, errors)
    wanted = None if id is None else option_groups.given_ids([id], int_ids)[0]
    inputs = option_groups.DocumentOptions(
        bits=bits, base64=base64, int_ids=int_ids, format=format, encoding=encoding, errors=errors
    )
    with open_either(db, allow or []) as database, ExitStack() as held:
        sketch, texts = database.options.sketch, None
        if asked.texts is not None:
            stored = options.texts.stored_texts(asked.texts, inputs, sketch)
            texts = held.enter_context(stored)
        if database.options.is_hashes or bits is not None or base64:
            ways = options.sketch_options
            stored_bits = database.options.bits if database.options.is_hashes else bits
            reading = replace(inputs, bits=stored_bits).reading()
            ways.check_given(ways.SketchOptions().given(bits), sketch, db)
            if isinstance(document, str):
                document = reading.read_as(document.strip())
        elif isinstance(document, str):
            print_note(files.markup_hint(document, file or "the text", sketch))
        found = asked.found(database, document, wanted, errors, texts)
    count = print_rows(map(match_row, found), asked.columns)
    if not count and is_table():
        print_note("no match")


def _document(
    text: str | None, file: str | None, fingerprint: str | None, encoding: str, errors: str
) -> str | int | None:
    """Return the text or the fingerprint that was given; None for a stored document."""
    decoded_as = core.decoding.known_encoding(encoding)
    if fingerprint is not None:
        return option_groups.given_bits(fingerprint)
    if text == files.STANDARD_INPUT or file is not None:
        reading = files.SourceOptions(encoding=decoded_as, errors=errors)
        return files.read_one(file or files.STANDARD_INPUT, reading)
    return text
