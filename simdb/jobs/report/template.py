"""Templates: pages by jinja2, which escapes everything that was not marked as safe.

Only this module imports jinja2, which the extra `report` installs.  A page is one file: its style
sheet is inside, and a policy in its head forbids to load anything from elsewhere.
"""

import sys
from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import simdb
from simdb.core.arrays import Id
from simdb.core.arrow import id_text
from simdb.core.checks import installed
from simdb.core.errors import OptionError
from simdb.core.previews import size
from simdb.files import PAGE, STANDARD_OUTPUT, Format, Target, check_place, written
from simdb.jobs.report.excerpts import visible

FOLDER = Path(__file__).parent
STYLE = "page.css"
ID_CHARACTERS = 120
PAGE_FORM = Format(PAGE)


def load_jinja() -> Any:
    """Import jinja2; OptionError with a remedy if it is not installed."""
    # Loaded when needed, because only pages need it.
    return installed("jinja2", "a report needs jinja2: pip install jinja2")


def check_page(path: str) -> None:
    """Raise OptionError if a page cannot be made, or not be written to `path`."""
    load_jinja()
    if path == STANDARD_OUTPUT and sys.stdout.isatty():
        raise OptionError("a page would flood the terminal; use -o report.html, or a pipe")
    if path != STANDARD_OUTPUT:
        check_place(path)


def render(name: str, /, *, script: str = "", **values: Any) -> str:
    """Return a page by the template `name`; `script`: the file of the only script that may run."""
    jinja = load_jinja()
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(size=size, count=count, moment=moment, id=shown_id, visible=visible)
    safe = import_module("markupsafe").Markup
    source = f"\n{_content(script)}" if script else ""
    digest = b64encode(sha256(source.encode()).digest()).decode() if script else ""
    page: str = environment.get_template(name).render(
        style=safe(_content(STYLE)), version=simdb.__version__,
        script=safe(source), script_digest=digest,
        **values,
    )  # fmt: skip
    return page


def write_page(page: str, path: str) -> int:
    """Write a page to `path` and return its bytes; a file gets its name when it is complete."""
    with written(path, PAGE_FORM) as target:
        assert target is not None, "a path and a format make a target"
        return fill_page(page, target)


def fill_page(page: str, target: Target) -> int:
    """Write a page to an output, and return its bytes."""
    assert target.stream is not None, "only folders have no stream"
    target.rows = 1
    return target.stream.write(page.encode())


def count(number: float) -> str:
    """Return a number with separators."""
    return f"{number:,.0f}"


def moment(time: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return "unknown" if time is None else time.strftime("%Y-%m-%d %H:%M")


def shown_id(id: Id) -> str:
    """Return an id as a line of text that a page can show."""
    text = visible(id_text(id).replace("\n", " "))
    if len(text) <= ID_CHARACTERS:
        return text
    return f"{text[: ID_CHARACTERS // 2]}\u2026{text[-ID_CHARACTERS // 2 :]}"


def _content(name: str) -> str:
    """Return a file of this package."""
    return (FOLDER / name).read_text(encoding="utf-8")
