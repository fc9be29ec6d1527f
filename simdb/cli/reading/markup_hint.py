"""Markup hint: a note that a text looks like HTML, but its tags count as text."""

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from simdb.cli.output.render import plain
from simdb.columns.text_column import TextColumn
from simdb.settings.text_sketch import TextSketch

if TYPE_CHECKING:
    from simdb.sources.batch import Texts

LOOKED_AT_CHARACTERS = 4096
HTML_START = re.compile(
    r"""\s* (?: <\?xml [^>]* > \s* )? (?: <!-- .*? --> \s* )*
    < (?: !doctype \s+ html | html | head | title | meta | body | div | p | table | article ) \b""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def page_position(texts: "Texts") -> int | None:
    """Return the position of the first text that begins like HTML; None if none does."""
    # Few texts pass the quick test of `_may_begin`.
    heads = texts.heads() if isinstance(texts, TextColumn) else texts
    pages = (at for at, head in enumerate(heads) if _may_begin(head) and _begins(texts[at]))
    return next(pages, None)


def markup_hint(text: str, where: str, sketch: TextSketch) -> str | None:
    """Return the hint for a text that begins like HTML and is read as plain text, or None."""
    if sketch.markup != "none" or not _begins(text):
        return None
    return (
        f"{where}: this looks like HTML, and its tags are compared as words; --markup html compares"
        " the visible text only (of a database: when it is created)"
    )


def note_markup(texts: Iterable[tuple[str, str]], sketch: TextSketch) -> None:
    """Print the hint for the first of some texts that needs it; `texts` are (name, text)."""
    hints = [markup_hint(text, name, sketch) for name, text in texts]
    found = next(filter(None, hints), None)
    if found is not None:
        print(plain(found), file=sys.stderr)


def _may_begin(text: str) -> bool:
    return text[:1] == "<" or text[:1].isspace()


def _begins(text: str) -> bool:
    return HTML_START.match(text, 0, LOOKED_AT_CHARACTERS) is not None
