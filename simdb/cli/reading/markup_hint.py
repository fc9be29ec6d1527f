"""Hints: what somebody may have overlooked, said once and never in the way."""

import re
import sys
from collections.abc import Iterable

from simdb.cli.output.render import plain
from simdb.text_sketch import TextSketch

LOOKED_AT_CHARACTERS = 4096
HTML_START = re.compile(
    r"""\s* (?: <\?xml [^>]* > \s* )? (?: <!-- .*? --> \s* )*
    < (?: !doctype \s+ html | html | head | title | meta | body | div | p | table | article ) \b""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def markup_hint(text: str, where: str, sketch: TextSketch) -> str | None:
    """What to say of a text that begins like HTML and is to be taken as plain text."""
    if sketch.markup != "none" or not HTML_START.match(text, 0, LOOKED_AT_CHARACTERS):
        return None
    return (
        f"{where}: this looks like HTML, and its tags count as text; --markup html (given when the"
        " database is created) takes the visible text only"
    )


def note_markup(texts: Iterable[tuple[str, str]], sketch: TextSketch) -> None:
    """Say of named texts, on standard error, when they look like HTML and are taken as they are."""
    hints = [markup_hint(text, name, sketch) for name, text in texts]
    found = next(filter(None, hints), None)
    if found is not None:
        print(plain(found), file=sys.stderr)
