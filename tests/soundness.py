"""Whether a database keeps its promises when a test is over."""

import os

import simdb
from simdb.storage import layout, registry
from simdb.storage.merge import run_keys

TINY = simdb.Options(delta_documents=4, growth=2)


def assert_sound(path):
    """Open `path`: the deep check finds nothing, and nobody else reads or has it open."""
    with simdb.open(path, "r") as database:
        findings = list(database.check(deep=True))
        readers = [reader for reader in database.stats().readers if reader.process == os.getpid()]

        assert findings == []
        assert stray_values(database) == []
        assert len(readers) <= 1, f"readers other than stats() itself: {readers}"
    still_open = [environment.path for environment in registry._open.values()]
    assert os.path.abspath(path) not in still_open


def stray_values(database):
    """Stored values of runs that are not live: nobody would ever remove them."""
    store = database._store
    view, source = store.enter()
    expected = set()
    for run in view.runs:
        expected.update(run_keys(run, store.options.table_count, store.width))
    names = [*layout.table_names(store.options.table_count), layout.IDS]
    found = {
        (name, bytes(key))
        for name in [*names, layout.DOCUMENTS, layout.VOLATILITY]
        for key, _ in source.transaction.cursor(store.environment.subdatabase(name))
    }
    source.end()
    return sorted(found ^ expected)
