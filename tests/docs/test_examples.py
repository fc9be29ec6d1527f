"""The programs of examples/ run, and print what they are for."""

import subprocess
import sys
from pathlib import Path

import simdb

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = {
    "clean_jsonl": (["articles.jsonl", "clean.jsonl"], "1000 records, 900 kept\none group: "),
    "crawler": (["pages.simdb"], "skipped http://mirror.example/bread - like http://penby.example"),
    "nearest": (["copy a database while others write"], "copy       copy a database"),
    "workers": (["claims.simdb"], "600 offered, 200 new, 200 stored\n"),
    "photos": ([], "like the copy of photo 7: [7]\n"),
    "embeddings": (
        [],
        "50 groups; the first: [0, 2000]\nlike a new copy of document 7: [7, 2007]\n",
    ),
}


def run(name, arguments, folder):
    """Run a program of examples/ in `folder`; return what it prints."""
    environment = {"PYTHONPATH": str(Path(simdb.__file__).parents[1])}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_every_example_is_run_and_is_a_page_long():
    names = {path.stem for path in EXAMPLES.glob("*.py")}

    assert names == {*PROGRAMS, "make_articles"}
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 65
