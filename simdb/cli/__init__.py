"""Command line: lists the commands in groups, and reads the texts of their help.

Each command parses, calls and prints.  The modules of commands are cold: only the module of the
command that runs is loaded, and none for the help of the program.  A module names what its command
calls through doors (`core/cold.py`), so that the help of a command loads no library.

All texts are in `help.txt`, by group and command, in the order of the help.  Each command has a
text, then indented lines about its options, see `options/declare.py`.
"""

import re
from pathlib import Path

from simdb.core import cold

# The module of each command that shares one; any other command has a module of its own name.
SHARED = {
    "fingerprint": "sketching", "idf": "sketching", "calibrate": "sketching",
    "pairs": "listing", "clusters": "listing",
    "get": "documents", "cluster": "documents", "delete": "documents",
    "stats": "inspection", "check": "inspection", "doctor": "inspection",
    "create": "plan", "copy": "upkeep", "merge": "upkeep", "dump": "upkeep", "load": "upkeep",
    "compact": "upkeep", "rebuild": "upkeep", "import-datasketch": "upkeep", "upgrade": "upkeep",
}  # fmt: skip


def _sections(text: str, mark: str) -> dict[str, str]:
    """Return the sections of a text by their headings, which begin with `mark`."""
    _, *parts = re.split(f"^{mark} (.+)\n", text, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


_FILE = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
_GROUPS = {title: _sections(text, "##") for title, text in _sections(_FILE, "#").items()}
HELP = {name: text for group in _GROUPS.values() for name, text in group.items()}
FLAGS = set(re.findall("--[a-z0-9-]+", _FILE))
# The first sentence about each command, by group and name.
COMMANDS = {
    title: {name: " ".join(text.split("\n\n")[0].split()) for name, text in group.items()}
    for title, group in list(_GROUPS.items())[1:]
}
NAMES = [name for group in COMMANDS.values() for name in group]


def module_of(command: str) -> str:
    """Return the module, in this folder, that holds the function of a command."""
    return SHARED.get(command, command.replace("-", "_"))


__all__ = list(dict.fromkeys(map(module_of, NAMES)))
__getattr__ = cold.modules(__name__, __all__)
