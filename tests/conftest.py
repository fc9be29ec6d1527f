"""Databases for tests; each must be sound, and without leaked readers, when its test ends."""

import os

import pytest
from hypothesis import HealthCheck, settings

import simdb
from simdb.storage import gate, layout, registry
from simdb.storage.merge import run_keys

settings.register_profile(
    "default",
    max_examples=30,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "thorough",
    max_examples=1000,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

TINY = simdb.Options(delta_documents=4, growth=2)


@pytest.fixture
def short_waits(monkeypatch):
    """Closing and growing give up on open snapshots quickly."""
    monkeypatch.setattr(gate, "WAIT_SECONDS", 0.05)


@pytest.fixture
def open_database(tmp_path):
    """Opens databases, by default `tmp_path / "db"`, and verifies all of them at the end."""
    opened = []

    def open_one(path=None, mode="c", **settings):
        database = simdb.open(tmp_path / "db" if path is None else path, mode, **settings)
        opened.append(database)
        return database

    yield open_one
    for path in {database.path: None for database in opened}:
        for database in opened:
            if database.path == path:
                database.close()
        assert_sound(path)


@pytest.fixture
def database(open_database):
    """An empty database whose runs are sealed after 4 documents and merged early."""
    return open_database(options=TINY)


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
