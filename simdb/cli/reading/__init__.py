"""Reading: turns files, folders and standard input into a stream of records."""

from typing import TYPE_CHECKING

from simdb import cold

__all__ = ["batch", "records"]

if TYPE_CHECKING:
    from simdb.cli.reading import batch, records
else:
    # Many commands declare options for reading, and read nothing.
    __getattr__ = cold.modules(__name__, __all__)
