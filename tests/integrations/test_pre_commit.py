"""The hooks for pre-commit, with the real package where it is installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simdb
from simdb.cli.app import app

HOOKS = Path(simdb.__file__).parent.parent / ".pre-commit-hooks.yaml"
EXIT_CODE = "--exit-code"
TEXT = " ".join(f"word{at}" for at in range(200))
OTHER = " ".join(f"other{at}" for at in range(200))
IDENTITY = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]


def entries():
    return re.findall(r"^  entry: (.+)$", HOOKS.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_hooks_run_a_command_that_ends_with_1_for_duplicates():
    dedup = app.get_command(None, "dedup")
    known = [name for parameter in dedup.params for name in parameter.opts]

    for entry in entries():
        program, command, *options = entry.split()
        assert (program, command) == ("simdb", "dedup")
        assert set(options) <= set(known)
        # Without this option duplicates are no reason to fail, if it exists.
        assert (EXIT_CODE in options) == (EXIT_CODE in known)
    assert len(entries()) == 2


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """An empty git repository with both hooks, run by the simdb of this checkout."""
    pytest.importorskip("pre_commit", reason="needs pre-commit: pip install pre-commit")
    programs, folder = tmp_path / "bin", tmp_path / "repository"
    programs.mkdir()
    code = f"#!{sys.executable}\nfrom simdb.cli.app import main\nmain()\n"
    (programs / "simdb").write_text(code)
    (programs / "simdb").chmod(0o755)
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(HOOKS.parent))
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    hooks = HOOKS.read_text(encoding="utf-8").replace("language: python", "language: system")
    hooks = hooks.replace("  pass_filenames", "  args: [texts]\n  pass_filenames")
    shown = "".join(f"      {line}\n" for line in hooks.splitlines())
    Path(".pre-commit-config.yaml").write_text(f"repos:\n  - repo: local\n    hooks:\n{shown}")
    git("init", "-q", ".")
    Path("texts").mkdir()
    Path("texts", "a.txt").write_text(TEXT)
    git("add", ".")
    return folder


def git(*arguments):
    subprocess.run(["git", *IDENTITY, *arguments], check=True, capture_output=True)


def run(hook, *arguments):
    """Run a hook on what is staged; return its exit code and output."""
    program = [sys.executable, "-m", "pre_commit", "run", "--color", "never", hook, *arguments]
    done = subprocess.run(program, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.usefixtures("repository")
def test_near_copies_among_staged_files_or_in_folders_fail():
    Path("b.txt").write_text(OTHER)
    Path("picture.bin").write_bytes(bytes(range(256)))
    git("add", ".")
    assert run("simdb-dedup")[0] == 0

    git("commit", "-q", "-m", "first", "--no-verify")
    Path("texts", "b.txt").write_text(TEXT + " more")
    git("add", ".")

    assert run("simdb-dedup")[0] == 0  # only the new file is staged
    code, shown = run("simdb-dedup-folders")

    assert code == 1
    assert "texts/a.txt" in shown
    assert run("simdb-dedup", "--all-files")[0] == 1
