"""Files: reads documents from files, folders and streams, and writes results to files.

This wing knows formats, encodings, remote files and atomic outputs.  `simdb.jobs` processes the
documents.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
