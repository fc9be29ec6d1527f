"""Command line: commands, each of which parses, calls and prints.

The modules of the commands are cold: only the module of the command that runs is loaded.
"""

from simdb.cli.commands import NAMES, module_of
from simdb.ground import cold

__getattr__ = cold.modules(__name__, list(dict.fromkeys(map(module_of, NAMES))))
