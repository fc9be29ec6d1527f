"""Older: makes databases as versions without cross-polytope tables have left them."""

from dataclasses import replace

import simdb
from simdb.storage import contents, layout
from simdb.storage.file_map import (
    get_value,
)


def create(path, options):
    """Create an empty database as an older version does, and close it."""
    with simdb.open(path, "x", options=replace(options, polytopes=0)) as database:
        forget_number(database)


def forget_number(database):
    """Take the number of cross-polytope tables, which must be 0, out of the stored options."""
    environment = database._store.environment

    def write(transaction):
        options = database._store.options
        assert options.polytopes == 0
        older = replace(options, polytopes=None)
        assert contents.replace_open(environment, transaction, older)

    environment.write(write)


def has_number(database):
    """Return whether the stored options name a number, for which older versions refuse it."""
    environment = database._store.environment
    with environment.reading() as transaction:
        value = get_value(transaction, environment.subdatabase(layout.META), layout.OPTIONS_KEY)
        return b"polytopes" in bytes(value)
