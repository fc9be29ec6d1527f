"""Databases for tests; each must be sound, and without leaked readers, when its test ends."""

import os

import pytest
from hypothesis import HealthCheck, settings
from soundness import TINY, assert_sound

import simdb
from simdb.engine.maintenance import calibration
from simdb.plan.cost import USUAL_DELAYS
from simdb.storage.environment import gate

settings.register_profile(
    "default",
    max_examples=80,
    stateful_step_count=30,
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


@pytest.fixture(autouse=True)
def usual_delays(monkeypatch):
    """Make calibration find the same delays on every machine, so that plans stay the same."""
    monkeypatch.setattr(calibration, "measured_delays", lambda: USUAL_DELAYS)


@pytest.fixture
def short_waits(monkeypatch):
    """Make closing and growing give up on open snapshots quickly."""
    monkeypatch.setattr(gate, "WAIT_SECONDS", 0.05)


@pytest.fixture
def open_database(tmp_path):
    """Return a function that opens databases, which are verified when the test ends.

    The default path is `tmp_path / "db"`.
    """
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
    """Return an empty database whose runs are sealed after 4 documents and merged early."""
    return open_database(options=TINY)
