"""Completion: what a shell offers when Tab is pressed."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete
from over import over

import simdb
from simdb.cli.app import NAMES, SHELLS, app
from simdb.cli.options.declare import CHOICES, SHARED
from simdb.core.options import METHODS, MINHASH_METHODS

PROGRAM = f"#!{sys.executable}\nfrom simdb.cli.app import main\nmain()\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The home folder of a user whose shell is bash, with `simdb` among the programs."""
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(variable, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "simdb").write_text(PROGRAM)
    (programs / "simdb").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(simdb.__file__)))
    return tmp_path


def offered(words):
    """Return what is offered for the last of `words`, with the kind of each value."""
    *before, incomplete = words.split(" ")
    found = BashComplete(app, {}, "simdb", "_SIMDB_COMPLETE").get_completions(before, incomplete)
    return [(each.type, each.value) for each in found]


def test_commands_are_completed_without_loading_them():
    code = (
        "import sys; from simdb.cli.app import main; sys.argv = ['simdb']\n"
        "import atexit; atexit.register(lambda: print(*sys.modules))\n"
        "main()"
    )
    asked = {"_SIMDB_COMPLETE": "bash_complete", "COMP_WORDS": "simdb ", "COMP_CWORD": "1"}

    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True
    )

    *lines, modules = done.stdout.splitlines()
    assert lines == [f"plain,{name}" for name in NAMES]
    assert {"simdb.cli.dedup", "simdb.cli.inspection", "numpy", "rich"}.isdisjoint(modules.split())


@over(
    ("words", "expected"),
    [
        ("pa", [("plain", "pairs")]),
        ("--ver", [("plain", "--version")]),
        ("dedup --max", [("plain", "--max-share")]),
        ("query --search ps", [("plain", "psm")]),
        ("dedup a", [("file", "a")]),
        ("dedup --db a", [("dir", "a")]),
        ("dedup -o a", [("file", "a")]),
        ("dedup --keep l", [("plain", "last"), ("plain", "longest")]),
        ("dedup --policy s", [("plain", "star")]),
        ("stats a", [("dir", "a")]),
        ("get db a", []),
    ],
)
def test_words_are_completed_by_what_they_mean(words, expected):
    assert offered(words) == expected


def test_the_choices_that_are_offered_are_those_that_are_accepted():
    assert set(CHOICES["--search"]) == {*METHODS, *MINHASH_METHODS}
    assert f"search: {', '.join(METHODS)} (only" in SHARED["--search"].help


def test_bash_completes_after_the_installation(simdb_run, home):
    ran = simdb_run("--install-completion")
    again = simdb_run("--install-completion", "bash")

    asked = (
        ". ~/.bashrc; COMP_WORDS=(simdb clu); COMP_CWORD=1; _simdb_completion simdb;"
        ' IFS=,; echo "${COMPREPLY[*]}"'
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)

    assert (ran.code, again.code, done.stderr) == (0, 0, "")
    assert done.stdout == "clusters,cluster\n"
    assert len((home / ".bashrc").read_text().splitlines()) == 1
    assert str(home / ".bashrc") in ran.output


def test_the_start_file_keeps_its_lines(simdb_run, home):
    (home / ".zshrc").write_text("setopt autocd")

    simdb_run("--install-completion", "zsh")

    first, second = (home / ".zshrc").read_text().splitlines()
    script = home / ".local/share/zsh/site-functions/_simdb"
    assert first == "setopt autocd"
    assert second.startswith(f"fpath=({script.parent} $fpath)")
    assert script.read_text().startswith("#compdef simdb")


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_shown_is_what_is_installed_and_the_shell_reads_it(simdb_run, home, shell):
    shown = simdb_run("--show-completion", shell)
    simdb_run("--install-completion", shell)

    (path,) = [each for each in home.rglob("*simdb*") if each.is_file() and "bin" not in each.parts]

    assert shown.code == 0
    assert "_SIMDB_COMPLETE" in shown.output
    assert path.read_text().strip() == shown.output.strip()
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", str(path)], capture_output=True).returncode == 0


def test_an_unknown_shell_is_wrong_use(simdb_run, monkeypatch):
    assert simdb_run("--show-completion", "tcsh").code == 2
    assert "bash, zsh, fish, got 'tcsh'" in simdb_run("--install-completion", "tcsh").notes
    monkeypatch.setenv("SHELL", "")
    assert "SHELL names none; name one" in simdb_run("--show-completion").notes
