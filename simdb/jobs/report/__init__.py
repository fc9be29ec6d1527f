"""Report: self-contained HTML pages about a database, removed documents, and leaked items.

`facts` collects the contents of the page about a database, within stated limits.  `page` makes all
pages and is loaded when it is used.  jinja2 is optional (`pip install jinja2`), and loaded only for
a page.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
