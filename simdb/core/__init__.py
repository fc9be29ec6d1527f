"""Core: the modules that every wing shares.

They hold errors, options, documents and results, Arrow columns, threads, memory and the compiled
kernel.  Nothing here knows a sketch, a file format or a database.  Other wings import names from
the module itself, `from simdb.core.errors import InputError`, or name a module through the door:
`from simdb import core`, then `core.memory.Blocks()`, which loads it.
"""

# `from simdb.core import cold` would wait until `simdb` is loaded, and the thread that loads it may
# wait for this module.
from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
