"""Rendering: prints result rows as tables or JSON lines, and notes; defines exit codes."""

import json
import re
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TextIO

import click

from simdb.cli import FLAGS, output
from simdb.files import Row, as_text, encoded

if TYPE_CHECKING:
    from simdb.core.matches import Match, Verification

# Keys of a command's context: whether --json was given, its options, all words given.
JSON, OWN, GIVEN = (f"{__name__}.{each}" for each in ("json", "own", "given"))
FINDINGS = 1  # input that was skipped, or findings where they count
WRONG_USE = 2
DATABASE_ERROR = 3
# A shell reports 128 + the number of the signal that ended a program.
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE
TERMINATED = 128 + signal.SIGTERM
# Rows per table: column widths depend on all rows of a table, which are held in memory.
TABLE_ROWS = 200
CELL_CHARACTERS_MAX = 120
# Fields that are never shortened: in a single row, and in rows with --show.
SENTENCES = ("reason", "note")
TEXTS = ("text", "match_text", "left_text", "right_text")
LISTED = 5
# The members of a group, each on a line of its own: ids of files are long.
MEMBERS = ("ids", "duplicates")
GROUP_COLUMNS = ("size", "similarity", "document")
INDENT = "  "
SIMILARITY_DIGITS = 6
ELLIPSIS = "\u2026"
MICROSECONDS = 1e6
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))

# Verbs and arguments that have another name on the command line.
COMMANDS = {
    "find_all": "pairs", "find_clusters": "clusters", "fit_idf": "idf", "set_idf": "idf --db",
    "add_if_new": "dedup --db", "delete_where": "delete --where",
    "compact": "compact", "rebuild": "rebuild", "calibrate": "calibrate",
}  # fmt: skip
ARGUMENTS = {"store-volatility": "volatility", "html-weights": "html-weight"}

# Names of the library follow a space or a bracket.  Names of users, such as the id `page?id=3` or
# the file `find_all.py`, are not changed.
START, END = r"(?<![^\s(])", r"(?![\w/.:]\w|[/'\"])"
VALUE = (
    r"(?:'(?P<text>[^']*(?:' or '[^']*)*)'|(?P<flag>True|False)\b|(?P<number>-?\w[\w.]*(?<!\.)))?"
)
OPTION = re.compile(rf"{START}(?P<name>[a-z_]+)=(?!=){VALUE}{END}")
VERB = re.compile(rf"{START}(?:simdb\.)?([a-z]+_[a-z_]+|[a-z]+(?=\())(?:\(([^()]*)\))?{END}")
# A message that names both forms, such as `rebuild(), simdb rebuild`.
BOTH = re.compile(r"(?:[\w.]+\([^()]*\)|\w+=\S*(?: and \w+=)?), (?:or )?(?=simdb |--)")
SETTINGS = re.compile(r"(?:simdb\.)?(?:Simhash|Options)\(([^()]*)\)")


class Exit(click.exceptions.Exit):
    """The end of a command, with an exit code."""


def print_rows(rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Print rows while they arrive and return their number.

    A table shows only the fields in `columns`, in this order; JSON lines have all fields.  A group,
    a row with the column "ids" or "duplicates", takes a line for each of its first documents.
    """
    if not is_table():
        return _print_lines(rows)
    count = 0
    source = iter(rows)
    while part := list(islice(source, TABLE_ROWS)):
        _print_table(part, columns)
        count += len(part)
    return count


def print_one(row: Row) -> None:
    """Print one row: on a terminal, one field on each line."""
    if not is_table():
        _print_lines([row])
        return
    output.terminal.print_fields(
        (name.replace("_", " "), plain(each) if each and name in SENTENCES else cell(each))
        for name, each in _flat(row)
    )


def print_note(note: str | None) -> None:
    """Print a line on standard error, unless it is None."""
    if note is not None:
        print(wrapped(plain(note)), file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """Print a line on standard output, wrapped between words on a terminal."""
    print(wrapped(text, sys.stdout))


def wrapped(text: str, stream: TextIO | None = None) -> str:
    """Return a line, wrapped if `stream`, by default standard error, is a terminal."""
    if not (sys.stderr if stream is None else stream).isatty():
        return text
    return textwrap.fill(
        text, shutil.get_terminal_size().columns, replace_whitespace=False, break_long_words=False,
        break_on_hyphens=False, subsequent_indent=INDENT if text.startswith("* ") else "",
    )  # fmt: skip


def is_table() -> bool:
    """Return whether results are printed as tables: on a terminal, without --json."""
    return not wants_json() and sys.stdout.isatty()


def wants_json() -> bool:
    """Return whether the command that runs was given --json."""
    return bool(_kept(JSON))


def cell(value: Any) -> str:
    """Return a value as the text of a table cell: short, one line, no control characters."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(each) for each in value[:LISTED])
        return shown + (f" and {len(value) - LISTED:,} more" if len(value) > LISTED else "")
    if isinstance(value, dict):
        return shortened(plain(json.dumps(value, ensure_ascii=False, default=encoded)))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return shortened(plain(value if isinstance(value, str) else repr(value)))


def plain(text: str) -> str:
    """Return `text` with all characters escaped that are not printable, such as controls."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def shortened(text: str) -> str:
    """Return `text`, without its middle if it is too long for a table."""
    if len(text) <= CELL_CHARACTERS_MAX:
        return text
    half = CELL_CHARACTERS_MAX // 2
    return text[: half - 1] + ELLIPSIS + text[-half:]


def match_row(match: "Match", name: str = "id") -> Row:
    """Return a match as a row, with its id in the field `name`."""
    row: Row = {name: match.id, "distance": match.distance, "similarity": rounded(match.similarity)}
    if match.containment is not None:
        row["containment"] = rounded(match.containment)
    if match.spans is not None:
        row["spans"] = [list(span) for span in match.spans]
    return row


def rounded(similarity: float | None) -> float | None:
    """Return a similarity rounded to its significant digits; None for None."""
    return None if similarity is None else round(similarity, SIMILARITY_DIGITS)


def quantity(count: int, name: str) -> str:
    """Return a number with its noun: `1 document`, `1,200 documents`."""
    return f"{count:,} {name}" if count == 1 else f"{count:,} {name}s"


def time_in_words(microseconds: float) -> str:
    """Return a time with a unit that suits it, such as `12.3 ms`."""
    seconds = microseconds / MICROSECONDS
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _print_lines(rows: Iterable[Row]) -> int:
    """Print rows as lines of JSON, in ASCII unless the output is UTF-8; return their number.

    On a terminal, characters that could control it or reverse its text are escaped, too.
    """
    is_terminal = sys.stdout.isatty()
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    count = 0
    for row in rows:
        line = as_text(row, ensure_ascii=encoding != "utf8")
        if is_terminal and not line.isprintable():
            line = "".join(
                each if each.isprintable() else as_text(each, ensure_ascii=True)[1:-1]
                for each in line
            )
        sys.stdout.write(line + "\n")
        count += 1
    return count


def _print_table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    if any(name in MEMBERS for name in columns):
        rows = list(chain.from_iterable(map(_group_lines, rows)))
        columns = [name for name in GROUP_COLUMNS if any(name in row for row in rows)]
    numbers = {
        name
        for name in columns
        if all(isinstance(row.get(name), int | float | None) for row in rows)
    }
    output.terminal.print_table(
        [(name.replace("_", " "), name in numbers) for name in columns],
        ([_cell_in(row, name) for name in columns] for row in rows),
    )


def _cell_in(row: Row, name: str) -> str:
    """Return the cell of a row; a text, which --show has cut, is not shortened."""
    value = row.get(name)
    if name == GROUP_COLUMNS[-1]:  # these are cells already, some of two lines
        return str(value)
    return plain(value) if value and name in TEXTS else cell(value)


def _group_lines(row: Row) -> Iterator[Row]:
    """Yield a line for the representative of a group, and for its first other documents.

    The text of a document, if there is one, is below its id.
    """
    leader = f"{row['representative']}{' (reference)' if row.get('reference') else ''}"
    yield {"size": row["size"], "document": _titled(leader, row, "")}
    others = row.get("duplicates")
    if others is None:
        others = [{"id": id} for id in row["ids"] if id != row["representative"]]
    for each in others[:LISTED]:
        yield {**each, "document": _titled(each["id"], each, INDENT)}
    if len(others) > LISTED:
        yield {"document": f"{INDENT}and {len(others) - LISTED:,} more"}


def _titled(id: Any, row: Row, indent: str) -> str:
    """Return the id of a document, with its text on the next line if the row has it."""
    text = row.get("text")
    return indent + cell(id) + (f"\n{indent}{INDENT}{plain(text)}" if text else "")


def _flat(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield names and values, also of each field in an inner object and each object in a list."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name} {inner}", each) for inner, each in _flat(value))
        elif isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            yield from ((f"{name} {at}", each) for at, each in enumerate(value))
        else:
            yield name, value


def verification_note(counts: "Verification | None") -> str | None:
    """Return a line about the pairs that texts have verified; None if there were none."""
    if counts is None or not (counts.judged or counts.unknown):
        return None
    notes = []
    if counts.judged:
        notes.append(
            f"checked {quantity(counts.judged, 'pair')} against the texts (a match:"
            f" {counts.measure} similarity {counts.least:g} or more)"
        )
    if counts.overruled:
        notes.append(f"the estimate alone would have been wrong on {counts.overruled:,}")
    if counts.unknown:
        notes.append(
            f"{quantity(counts.unknown, 'pair')} with stored documents only estimated: --texts with"
            " their files checks them"
        )
    return "; ".join(notes)


def in_words(message: str) -> str:
    """Return a message of the library in the words of the command line.

    The library uses the names of Python: `find_all`, `similarity=`, `compact()`.  On the command
    line, these are commands and options.  A remedy that cannot be translated like this has two
    forms, see `simdb.core.errors.Error`.
    """
    message = SETTINGS.sub(r"\1", BOTH.sub("", message))
    return OPTION.sub(_option_of, VERB.sub(_command_of, message))


def row_in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with `in_words` applied to its texts."""
    return {
        name: in_words(value) if isinstance(value, str) else value for name, value in row.items()
    }


def _command_of(found: re.Match[str]) -> str:
    """Return the command for a verb: `simdb rebuild polytopes=4` for rebuild(polytopes=4)."""
    command, given = COMMANDS.get(found[1]), found[2] or ""
    if command is None or found[0] in _kept(GIVEN):
        return found[0]
    return f"simdb {command} {given}" if "=" in given else f"simdb {command}"


def _option_of(found: re.Match[str]) -> str:
    """Return the option that gives an argument: `--recall 1.0` for recall=1.0.

    For `text=` and `id=` it is --text-field or --id-field in a command that has these.
    """
    name = found["name"].replace("_", "-")
    name = ARGUMENTS.get(name, name)
    if f"--{name}-field" in _kept(OWN):
        name += "-field"
    if f"--{name}" not in FLAGS or found[0] in _kept(GIVEN):
        return found[0]
    if found["flag"] is not None:
        return f"--{name}" if found["flag"] == "True" else f"--no-{name}"
    value = found["number"] if found["text"] is None else found["text"].replace("'", "")
    return f"--{name}" if value is None else f"--{name} {value}"


def _kept(key: str) -> Any:
    """Return the value of a key in the context of the running command; empty without."""
    context = click.get_current_context(silent=True)
    return () if context is None else context.meta.get(key, ())
