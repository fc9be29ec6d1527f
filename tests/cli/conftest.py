import json

import pytest
from click.testing import CliRunner

from simdb.cli.app import app


class Ran:
    """The result of one run of the command line."""

    def __init__(self, result):
        self.code = result.exit_code
        self.output = result.stdout
        self.notes = result.stderr
        self.error = result.exception

    @property
    def rows(self):
        return [json.loads(line) for line in self.output.splitlines()]


@pytest.fixture
def simdb_run(tmp_path, monkeypatch):
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, given=None):
        return Ran(CliRunner().invoke(app, [str(each) for each in arguments], input=given))

    return run


@pytest.fixture
def write_lines(tmp_path):
    """Writes records as a file of JSON lines."""

    def write(name, *records):
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        return name

    return write
