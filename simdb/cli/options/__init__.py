"""Options: how commands declare their options, and the options that several commands share."""

from simdb.core.cold import modules

# Few queries need texts of stored documents, or say that they are hashes.
__getattr__ = modules(__name__, ["sketch_options", "texts"])
