"""Command line: one module for each command, which parses, calls and prints.

The modules of the commands are cold: only the module of the command that runs is loaded.
"""

from simdb.cli.commands import COMMANDS
from simdb.ground import cold

__getattr__ = cold.modules(
    __name__, [name.replace("-", "_") for group in COMMANDS.values() for name in group]
)
