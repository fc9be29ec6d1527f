"""Storage: the files, values and runs in which a database lies on disk.

It stores keys, ordinals and bytes, checks and salvages them, and does not know what they mean.
"""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
