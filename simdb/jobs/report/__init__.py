"""Report: self-contained HTML pages for people, about a database and about what a run removed.

`gather` collects the facts about a database within stated limits, and `page` makes the page of
them.  `text_pairs` writes the pages about removed documents and about the items of a
test in documents; it is loaded when it is used.
jinja2 is optional (`pip install jinja2`), and loaded only for a page.
"""

from typing import TYPE_CHECKING

from simdb.core import cold

__all__ = ["template", "text_pairs"]

if TYPE_CHECKING:
    from simdb.jobs.report import template, text_pairs
else:
    __getattr__ = cold.modules(__name__, __all__)
