"""Output: everything a command gives back, from result rows to exit codes."""

from simdb.core.cold import modules

# What draws on a terminal needs rich, which takes long to import.
__getattr__ = modules(__name__, ["terminal"])
