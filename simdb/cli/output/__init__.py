"""Output: prints what a command returns, from result rows to notes and progress."""

from simdb.core.cold import modules

# `terminal` needs rich, which takes long to import.
__getattr__ = modules(__name__, ["terminal"])
