"""Files: reads documents from files, folders and streams, and writes results to files.

Here are formats, encodings of text, remote files and outputs that are there whole or not at all.
What is done with the documents is in `simdb.jobs`.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
