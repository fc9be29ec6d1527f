"""Jobs: `deduplicate` and `decontaminate` over data of any kind, and the pages that report them."""

from simdb.core import cold

__getattr__, __dir__, __all__ = cold.door(__name__)
