"""Sources: turns files, folders and standard input into batches of documents."""

from typing import TYPE_CHECKING

from simdb.ground import cold

__all__ = ["batch", "kinds", "records"]

if TYPE_CHECKING:
    from simdb.sources import batch, kinds, records
else:
    # Many commands declare options for reading, and read nothing.
    __getattr__ = cold.modules(__name__, __all__)
