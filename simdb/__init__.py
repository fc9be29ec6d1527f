"""simdb: an embedded, persistent, transactional database of near-duplicate documents.

Open a directory with `simdb.open`, insert documents, and ask which stored documents are
near-duplicates of a document, which pairs match, and which clusters they form.
"""

from simdb.core import cold

__version__ = "0.2.0"

# Type checkers read the public names in `__init__.pyi`.  A name is loaded when it is first used.
__getattr__, __dir__, __all__ = cold.door(
    __name__,
    moved={
        "explain": "simdb.open(None).explain(document=left, other_document=right)",
        "plan": "simdb.open(None, options=options).plan(documents)",
    },
)
__all__ += ["__version__"]
