"""Report: self-contained HTML pages for people, about a database and about what a run removed.

`gather` collects the facts about a database within stated limits, `figures` draws them, and `page`
writes the page.  `removed` and `leaks` write the pages about removed documents and about the items
of a test in documents; they are loaded when they are used.
jinja2 and matplotlib are optional (`pip install jinja2 matplotlib`), and loaded only for a page.
"""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["leaks", "removed", "template"]

if TYPE_CHECKING:
    from simdb.report import leaks, removed, template
else:
    __getattr__ = cold.modules(__name__, __all__)
