"""Report: self-contained HTML pages for people, about a database and about what a run removed.

`gather` collects the facts about a database within stated limits, and `page` makes the page of
them.  `text_pairs` writes the pages about removed documents and about the items of a
test in documents; it is loaded when it is used.
jinja2 is optional (`pip install jinja2`), and loaded only for a page.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
