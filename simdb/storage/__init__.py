"""Storage: the files, values and runs of a database on disk.

It stores keys, ordinals and bytes, and checks and salvages them, without knowing their meaning.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
