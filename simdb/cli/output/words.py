"""Words: messages of the library in the words of the command line.

The library names what a program writes: `find_all`, `similarity=`, `compact()`.  On a terminal
these are commands and options.  What has no such form, a message says for both: see
`simdb.ground.errors.Error`.
"""

import re
from typing import Any

import click

from simdb.cli import FLAGS

# What verbs and arguments are called that have another name on the command line.
COMMANDS = {
    "find_all": "pairs", "find_clusters": "clusters", "fit_idf": "idf", "set_idf": "idf --db",
    "add_if_new": "dedup --db", "delete_where": "delete --where",
    "compact": "compact", "rebuild": "rebuild", "calibrate": "calibrate",
}  # fmt: skip
ARGUMENTS = {"store-volatility": "volatility", "html-weights": "html-weight"}
# Where a command keeps the words that it was given, and its options.
GIVEN, OWN = f"{__name__}.given", f"{__name__}.own"

# Names of users, such as the id `page?id=3` or the file `find_all.py`, stay as they are: those of
# the library follow a space or a bracket.
START, END = r"(?<![^\s(])", r"(?![\w/.:]\w|[/'\"])"
VALUE = (
    r"(?:'(?P<text>[^']*(?:' or '[^']*)*)'|(?P<flag>True|False)\b|(?P<number>-?\w[\w.]*(?<!\.)))?"
)
OPTION = re.compile(rf"{START}(?P<name>[a-z_]+)=(?!=){VALUE}{END}")
VERB = re.compile(rf"{START}(?:simdb\.)?([a-z]+_[a-z_]+|[a-z]+(?=\())(?:\(([^()]*)\))?{END}")
# Both are named, such as `rebuild(), simdb rebuild`.
BOTH = re.compile(r"(?:[\w.]+\([^()]*\)|\w+=\S*(?: and \w+=)?), (?:or )?(?=simdb |--)")
SETTINGS = re.compile(r"(?:simdb\.)?(?:Simhash|Options)\(([^()]*)\)")


def in_words(message: str) -> str:
    """Return a message of the library in the words of the command line."""
    message = SETTINGS.sub(r"\1", BOTH.sub("", message))
    return OPTION.sub(_option, VERB.sub(_verb, message))


def row_in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the texts in it as `in_words` gives them."""
    return {
        name: in_words(value) if isinstance(value, str) else value for name, value in row.items()
    }


def _verb(found: re.Match[str]) -> str:
    """Return the command that is a verb: `simdb rebuild polytopes=4` for rebuild(polytopes=4)."""
    command, given = COMMANDS.get(found[1]), found[2] or ""
    if command is None:
        return found[0]
    return f"simdb {command} {given}" if "=" in given else f"simdb {command}"


def _option(found: re.Match[str]) -> str:
    """Return the option that gives an argument: `--recall 1.0` for recall=1.0.

    For `text=` and `id=` it is --text-field or --id-field in a command that has these.
    """
    context = click.get_current_context(silent=True)
    known = {} if context is None else context.meta
    name = found["name"].replace("_", "-")
    name = ARGUMENTS.get(name, name)
    if f"--{name}-field" in known.get(OWN, ()):
        name += "-field"
    if f"--{name}" not in FLAGS or found[0] in known.get(GIVEN, ()):
        return found[0]
    if found["flag"] is not None:
        return f"--{name}" if found["flag"] == "True" else f"--no-{name}"
    value = found["number"] if found["text"] is None else found["text"].replace("'", "")
    return f"--{name}" if value is None else f"--{name} {value}"
