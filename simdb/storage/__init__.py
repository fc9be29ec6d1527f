"""Storage: the files, values and runs in which a database lies on disk.

It stores keys, ordinals and bytes, checks and salvages them, and does not know what they mean.
"""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
