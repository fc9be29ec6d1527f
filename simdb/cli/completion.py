"""Completion: makes the shell complete commands, options, values and paths when Tab is pressed."""

import os
from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from simdb.ground.errors import OptionError

PROGRAM = "simdb"
# The shell runs the program with this variable to ask for the words that can follow.
VARIABLE = "_SIMDB_COMPLETE"
DETECTED = "auto"
# For each shell the folder of completions, in a variable or in the home folder; the file in it; and
# the start file, with a line for a shell that does not look into the folder by itself.
DATA = ("XDG_DATA_HOME", ".local/share")
SHELLS = {
    "bash": (*DATA, "bash-completion/completions/simdb", "", ".bashrc", '[ -r "{0}" ] && . "{0}"'),
    "zsh": (
        *DATA, "zsh/site-functions/_simdb", "ZDOTDIR", ".zshrc",
        "fpath=({0.parent} $fpath); autoload -Uz compinit; compinit",
    ),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/simdb.fish", "", "", ""),
}  # fmt: skip


def script(program: click.Command, shell: str) -> str:
    """Return the code that turns completion on in `shell`: bash, zsh, fish or auto."""
    return _completion(program, shell).source()


def install(program: click.Command, shell: str) -> str:
    """Turn completion on for this user; return a sentence about what was changed."""
    made = _completion(program, shell)
    variable, usual, name, start_variable, start, line = SHELLS[made.name]
    path = _folder(variable, usual) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made.source(), encoding="utf-8")
    changed = f"{path}"
    if line:
        start_file = _folder(start_variable) / start
        _add_line(start_file, line.format(path))
        changed += f", and a line in {start_file}"
    return f"completion for {made.name} is in {changed}; it works in the next {made.name}"


def _completion(program: click.Command, shell: str) -> ShellComplete:
    name = os.path.basename(os.environ.get("SHELL", "")) if shell == DETECTED else shell
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        found = f"got {name!r}" if name else "and the variable SHELL names none"
        raise OptionError(f"completion works in {', '.join(SHELLS)}, {found}; name one of them")
    return kind(program, {}, PROGRAM, VARIABLE)


def _folder(variable: str, usual: str = "") -> Path:
    """Return the folder that an environment variable names, or `usual` in the home folder."""
    return Path(os.environ.get(variable) or Path.home() / usual)


def _add_line(path: Path, line: str) -> None:
    """Append a line to a file unless the file has it."""
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    if line not in known.splitlines():
        break_before = "" if known.endswith("\n") or not known else "\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{break_before}{line}\n")
