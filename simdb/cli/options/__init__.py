"""Options: declares the options of commands, also options that several commands share."""

from simdb.core.cold import modules

# Few queries need these: for texts of stored documents, and for hashes.
__getattr__ = modules(__name__, ["sketch_options", "texts"])
