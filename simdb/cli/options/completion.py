"""Completion: makes the shell complete commands, options, values and paths when Tab is pressed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from simdb.ground.choices import MethodName
from simdb.ground.errors import OptionError

PROGRAM = "simdb"
# The shell runs the program with this variable to ask for the words that can follow.
VARIABLE = "_SIMDB_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
DETECTED = "auto"

# What the metavar of an argument or an option says about its value.
FOLDERS = ("DB", "TARGET")
PATHS = ("FILE", "SOURCE", "SOURCE...", "PICKLE", "[DB] A B")
CHOICES = {
    "--search": get_args(MethodName),
    "--keep": ("first", "last", "longest", "shortest", "max:", "min:"),
}

# Lines for the start file of a shell that does not look into a folder of completions by itself.
BASH_LINE = '[ -r "{path}" ] && . "{path}"'
ZSH_LINE = "fpath=({folder} $fpath); autoload -Uz compinit; compinit"


def commands(
    texts: Mapping[str, str], program: click.Command, context: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Return the commands that can complete a word, from their `texts`; options after a dash."""
    if incomplete.startswith("-"):
        return click.Command.shell_complete(program, context, incomplete)
    return [CompletionItem(name, help=texts[name]) for name in texts if name.startswith(incomplete)]


def completed(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the values that can complete an argument or an option.

    For a path this is only its kind: the shell itself lists files and folders.
    """
    if isinstance(parameter.type, click.Choice):
        return parameter.type.shell_complete(context, parameter, incomplete)
    for name in parameter.opts:
        if name in CHOICES:
            return [CompletionItem(each) for each in CHOICES[name] if each.startswith(incomplete)]
    metavars = (parameter.metavar, (parameter.metavar or "").strip("[]"))
    if any(each in FOLDERS for each in metavars):
        return [CompletionItem(incomplete, type="dir")]
    is_path = any(each in PATHS for each in metavars)
    return [CompletionItem(incomplete, type="file")] if is_path else []


def script(program: click.Command, shell: str) -> str:
    """Return the code that turns completion on in `shell`: bash, zsh, fish or auto."""
    return _completion(program, shell).source()


def install(program: click.Command, shell: str) -> str:
    """Turn completion on for this user; return a sentence about what was changed."""
    made = _completion(program, shell)
    home = Path.home()
    line = ""
    if made.name == "bash":
        path = _folder("XDG_DATA_HOME", ".local/share") / "bash-completion/completions" / PROGRAM
        start, line = home / ".bashrc", BASH_LINE.format(path=path)
    elif made.name == "zsh":
        path = _folder("XDG_DATA_HOME", ".local/share") / "zsh/site-functions" / f"_{PROGRAM}"
        start = Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
        line = ZSH_LINE.format(folder=path.parent)
    else:
        path = _folder("XDG_CONFIG_HOME", ".config") / "fish/completions" / f"{PROGRAM}.fish"
        start = path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made.source(), encoding="utf-8")
    if line:
        _add_line(start, line)
    changed = f"{path}, and a line in {start}" if line else f"{path}"
    return f"completion for {made.name} is in {changed}; it works in the next {made.name}"


def _completion(program: click.Command, shell: str) -> ShellComplete:
    name = os.path.basename(os.environ.get("SHELL", "")) if shell == DETECTED else shell
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        found = f"got {name!r}" if name else "and the variable SHELL names none"
        raise OptionError(f"completion works in {', '.join(SHELLS)}, {found}; name one of them")
    return kind(program, {}, PROGRAM, VARIABLE)


def _folder(variable: str, usual: str) -> Path:
    """Return the folder that an environment variable names, or `usual` in the home folder."""
    return Path(os.environ.get(variable) or Path.home() / usual)


def _add_line(path: Path, line: str) -> None:
    """Append a line to a file unless the file has it."""
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in known.splitlines():
        break_before = "" if known.endswith("\n") or not known else "\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{break_before}{line}\n")
