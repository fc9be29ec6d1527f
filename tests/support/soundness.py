"""Soundness: asserts that a database keeps its promises at the end of a test."""

import os

import simdb
from simdb.storage import environment, layout
from simdb.storage.contents import table_names
from simdb.storage.merge import written_keys

TINY = simdb.Options(delta_documents=4, growth=2)


def assert_sound(path):
    """Assert that the deep check finds nothing, and that `path` has no other reader or user."""
    with simdb.open(path, "r") as database:
        findings = list(database.check(deep=True))
        readers = [reader for reader in database.stats().readers if reader.process == os.getpid()]

        assert findings == [], findings
        assert stray_values(database) == []
        assert len(readers) <= 1, f"readers other than stats() itself: {readers}"
    still_open = [each.path for each in environment._open.values()]
    assert os.path.abspath(path) not in still_open


def stray_values(database):
    """Return the stored values of runs that do not exist, which no verb would ever remove."""
    store = database._store
    expected = set()
    tables = table_names(store.options)
    names = [*tables, layout.IDS]
    with store.state() as state:
        for run in state.runs:
            expected.update(run.value_keys(tables, store.width))
        manifest = store.contents(state.source).manifest
        if manifest.unfinished is not None:
            expected.update(written_keys(manifest.unfinished, tables))
        transaction = state.source.transaction
        found = {
            (name, bytes(key))
            for name in [*names, layout.DOCUMENTS, layout.VOLATILITY]
            for key, _ in transaction.cursor(store.environment.subdatabase(name))
            # Values that were written ahead of a failed commit are kept until the next commit.
            if not manifest.ahead or layout.key_number(bytes(key)) < manifest.ahead
        }
    return sorted(found ^ expected)


def everything(database):
    """Return answers of the database that do not depend on how it is stored."""
    known = list(database)
    found = [database.get(id) for id in known]
    weighted = [each.id for each in found if each.fingerprint.weights is not None]
    return {
        "options": database.options,
        "ids": [(type(id), id) for id in known],
        "fingerprints": [each.fingerprint for each in found],
        "metadata": [each.metadata for each in found],
        "near": [database.query(id=id, distance=5) for id in known],
        "similar": [database.query(id=id, similarity=0.5, recall=1.0) for id in weighted],
        "clusters": [each.ids for each in database.find_clusters(distance=3)],
    }
