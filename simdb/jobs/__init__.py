"""Jobs: `deduplicate` and `decontaminate` over data of any kind, and the pages that report them."""

from simdb.core.cold import door

__getattr__, __dir__, __all__ = door(__name__)
