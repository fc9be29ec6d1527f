"""Report: self-contained HTML pages for people, about a database and about what a run removed.

`facts` collects what a page says about a database within stated limits, and `page`, which is loaded
when it is used, makes the page of it, of removed documents, and of the items of a test in
documents.  jinja2 is optional (`pip install jinja2`), and loaded only for a page.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
