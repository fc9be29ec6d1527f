"""Option groups: holds options that several commands share, and parses their values."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, cast

import simdb
from simdb import core, files
from simdb.cli.options.declare import Natural
from simdb.cli.options.opening import stored_bits
from simdb.cli.output.progress import Progress, stage_lines
from simdb.cli.output.render import FINDINGS, Exit, print_note, print_rows
from simdb.core import choices
from simdb.core.errors import OptionError
from simdb.core.values import dataclass, replace

MULTIPLES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
NUMBER = re.compile("([0-9]{1,12})([KMGT]?)B?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a command about a search: how near documents must be, how to search."""

    similarity: float | None = None
    distance: int | None = None
    recall: float | None = None
    search: str | None = None

    @property
    def criterion(self) -> dict[str, Any]:
        """The options as arguments of the verbs that search."""
        given = {name: getattr(self, name) for name in ("similarity", "distance", "recall")}
        return given | {"search": given_search(self.search)}


def check_nearest(nearest: int | None, others: Mapping[str, object]) -> None:
    """Raise OptionError if --nearest is combined with one of `others`, given by name."""
    name = next((name for name, value in others.items() if value is not None), None)
    if nearest is not None and name is not None:
        raise OptionError(
            f"{name} does not apply to --nearest, which shows K documents of any"
            " similarity; leave out one of the two"
        )


def given_search(text: str | None) -> core.options.SearchLike | None:
    """Parse --search, such as "psm", "psm,attempts=64" or "memory_limit=2G".

    Raises OptionError for anything else.
    """
    if text is None:
        return None
    first, *others = text.split(",")
    if "=" in first:
        first, others = "", [first, *others]
    elif not others:
        return cast(choices.MethodName, first)
    values: dict[str, Any] = {"method": first or None}
    for each in others:
        name, _, value = each.partition("=")
        name = name.strip().replace("-", "_")
        number = given_size(value)
        names = core.options.SEARCH_NAMES[1:]
        if name not in names or number is None:
            raise OptionError(
                f"--search takes the name of a method and NAME=NUMBER of {', '.join(names)},"
                f" such as psm,attempts=64 or memory_limit=2G; got {text[:80]!r}"
            )
        values[name] = number
    return simdb.Search(**values)


def given_size(text: str) -> int | None:
    """Return a number with or without a unit, such as 64 or 2G; None for anything else."""
    number = NUMBER.fullmatch(text.strip().upper())
    return None if number is None else int(number[1]) * MULTIPLES[number[2]]


def given_memory(text: str | None) -> int | None:
    """Return the bytes that --memory names; None if it is not given."""
    found = None if text is None else given_size(text)
    if text is not None and not found:
        raise OptionError(f"--memory takes a size such as 500M or 2G; got {text[:80]!r}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """The options of a command about the texts that it reads."""

    id_field: str | None = None
    text_field: str | None = None
    format: choices.FormatName | None = None
    delimiter: str | None = None
    no_header: bool = False
    pad_rows: bool = False
    encoding: str = "utf-8"
    errors: choices.ErrorsName = "strict"
    on_error: choices.OnErrorName = choices.SKIP

    def reading(self) -> files.SourceOptions:
        """Return the options for reading sources, with only ids and texts.

        Raises OptionError for an unknown encoding or delimiter.
        """
        delimiter = {None: "", "tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter or "")
        is_one = len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'
        if self.delimiter is not None and not is_one:
            raise OptionError(
                f"--delimiter takes one character, such as ';', or tab, got {self.delimiter!r:.80}"
            )
        given = tuple(name for name in (self.id_field, self.text_field) if name is not None)
        return files.SourceOptions(
            encoding=core.decoding.known_encoding(self.encoding), errors=self.errors, given=given,
            id_field="id" if self.id_field is None else self.id_field,
            text_field="text" if self.text_field is None else self.text_field,
            has_lines=False, has_fields=False,
            format=self.format or "", on_error=self.on_error, delimiter=delimiter,
            has_header=not self.no_header, pads_rows=self.pad_rows,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions(TextOptions):
    """The options of a command about its input, whose ids can be numbers."""

    int_ids: bool = False

    def reading(self) -> files.SourceOptions:
        """Return the options for reading sources; see `TextOptions`."""
        return replace(TextOptions.reading(self), has_int_ids=self.int_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOptions(ReadingOptions):
    """The options of a command about its input, whose documents can be hashes."""

    bits: int | None = None
    base64: bool = False

    def reading(self, *stored: str | None) -> files.SourceOptions:
        """Return the options for reading sources.

        They hold hashes with --bits, or if a database among `stored` has hashes.  Raises
        OptionError for --base64 without hashes.
        """
        is_hashes = self.bits is not None or any(map(stored_bits, stored))
        if self.base64 and not is_hashes:
            raise OptionError("--base64 says how hashes are written; give --bits N, too")
        form = core.decoding.BASE64 if self.base64 else core.decoding.HEXADECIMAL
        return replace(ReadingOptions.reading(self), digits=form if is_hashes else "")


def with_nulls(
    reading: files.SourceOptions,
    on_null: choices.NullName | None,
    usual: choices.NullName | Literal[""] = "",
) -> files.SourceOptions:
    """Return `reading` with the word of --on-null, or with the `usual` word.

    A null is no hash.  So for hashes, there is no usual word, and --on-null keep raises
    OptionError.
    """
    if reading.digits:
        usual = ""
        if on_null == choices.KEEP:
            raise OptionError("--on-null keep works only with texts; use drop or error for hashes")
    return replace(reading, on_null=on_null or usual, has_absent=on_null is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOptions:
    """The options of a command about the list of its findings."""

    limit: Natural | None = None
    quiet: bool = False
    exit_code: bool = False
    timings: bool = False

    def __post_init__(self) -> None:
        """Let --quiet silence the warnings of the library, too; see `Program.invoke`."""
        if self.quiet:
            warnings.simplefilter("ignore")

    def show(self, rows: Iterable[files.Row], columns: Sequence[str]) -> bool:
        """Print at most --limit rows, none with --quiet; return whether there are any.

        No further rows are read.
        """
        source = iter(rows)
        if self.quiet or self.limit == 0:
            return next(source, None) is not None
        count = print_rows(islice(source, self.limit), columns)
        if count == self.limit and next(source, None) is not None:
            some = "one is" if count == 1 else f"{count:,} are"
            print_note(f"only the first {some} shown; --limit shows more")
        return count > 0

    def note(self, note: str | None) -> None:
        """Write a line about the result, unless it is None, to standard error without --quiet."""
        if not self.quiet:
            print_note(note)

    def note_stages(self, progress: Progress) -> None:
        """Write the time of each stage of the work if --timings was given."""
        if self.timings:
            for line in stage_lines(progress.timings):
                progress.report(line)

    def end(self, *, has_found: bool, has_skipped: bool = False) -> None:
        """End the command with exit code 1 for skipped input, or findings with --exit-code."""
        if has_skipped or (has_found and self.exit_code):
            raise Exit(FINDINGS)


def given_text(id: str, text: str, has_int_ids: bool) -> files.Found:
    """Return the one document whose text was given with --text."""
    (own_id,), size = given_ids([id], has_int_ids), len(text.encode("utf-8", "surrogatepass"))
    record = files.Record(id=own_id, text=text, source="--text", position=0, size_bytes=size)
    return files.batched([record])


def given_ids(ids: Collection[str], has_int_ids: bool) -> list[str | int]:
    """Return ids from the command line as a database stores them, text or int."""
    return [files.as_int_id(id) if has_int_ids else id for id in ids]


def given_bits(fingerprint: str) -> int:
    """Return a fingerprint on the command line as a number."""
    try:
        return int(fingerprint, 0)
    except ValueError as error:
        raise OptionError(
            f"--fingerprint must be a whole number, decimal or 0x..., got {fingerprint!r}"
        ) from error


def given_condition(conditions: list[str]) -> Callable[[Any], bool]:
    """Return a function that tells whether metadata satisfy all conditions FIELD=VALUE.

    A field satisfies VALUE if it equals this text, or the number, true, false or null that VALUE
    means in JSON.  Raises OptionError for a malformed condition.
    """
    return _condition([_parsed(condition) for condition in conditions])


def given_where(conditions: list[str] | None, fields: Collection[str]) -> Any:
    """Return the conditions --where FIELD=VALUE as one argument; None without conditions.

    It is a dict if all are `fields` that the database has.  It is a function if they are not, or if
    a VALUE can be either a text or, say, a number.
    """
    wanted = [_parsed(condition) for condition in conditions or ()]
    values = {field: values[0] for field, values in wanted if len(values) == 1}
    if wanted and len(values) == len(wanted) and values.keys() <= {*fields}:
        return values
    return _condition(wanted) if wanted else None


def _condition(wanted: list[tuple[str, list[Any]]]) -> Callable[[Any], bool]:
    """Return a function that tells whether metadata has one of the wanted values in each field."""

    def is_satisfied(metadata: Any) -> bool:
        return isinstance(metadata, dict) and all(
            field in metadata and any(_is_same(metadata[field], value) for value in values)
            for field, values in wanted
        )

    return is_satisfied


def _parsed(condition: str) -> tuple[str, list[Any]]:
    """Return the field, and the possible values: the text, and its meaning in JSON."""
    field, equals, text = condition.partition("=")
    if not field or not equals:
        raise OptionError(f"--where must be FIELD=VALUE, such as lang=en, got {condition!r}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return field, [text]
    return field, [text] if isinstance(value, str | list | dict) else [text, value]


def _is_same(found: Any, wanted: Any) -> bool:
    """Return whether two values are equal; true is not 1."""
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)
