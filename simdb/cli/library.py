"""The library: the Python files that are on every machine that runs Python."""

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import replace

from simdb.cli.reading.records import Reading, Record
from simdb.cli.reading.sources import read_folder

FOLDERS = {"stdlib": "stdlib", "site-packages": "purelib"}


def python_files() -> Iterator[Record]:
    """The Python files of the standard library and of what is installed, with short names."""
    for name, key in FOLDERS.items():
        folder = sysconfig.get_path(key)
        others = [os.path.realpath(sysconfig.get_path(each)) for each in FOLDERS.values()]
        passed = set(others) - {os.path.realpath(folder)}
        for record in read_folder(folder, Reading(), passed, ending=".py"):
            # Among the library's own tests there are files that are no text; they are left out.
            if isinstance(record, Record):
                yield replace(record, id=f"{name}/{os.path.relpath(str(record.id), folder)}")
