"""Databases for tests; each must be sound, and without leaked readers, when its test ends."""

import gc
import os
from collections import defaultdict
from pathlib import Path

import pytest
from covering import covering, drawn
from hypothesis import HealthCheck, settings
from soundness import TINY, assert_sound

import simdb
from simdb.database.maintenance import calibration
from simdb.database.search import many
from simdb.plan.calibration import USUAL_DELAYS
from simdb.storage import gate

settings.register_profile(
    "quick",
    max_examples=10,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "long",
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
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Tell a worker of `-n N --dist each` to take a share of the files, not every file."""
    node.workerinput["shares"] = node.config.option.dist == "each"


def pytest_ignore_collect(collection_path, config):
    """Leave files to other workers, which import and collect them, too."""
    worker = getattr(config, "workerinput", {"shares": False})
    if not worker["shares"] or collection_path not in FILES:
        return None
    mine = int(worker["workerid"].removeprefix("gw"))
    return FILES[collection_path] % worker["workercount"] != mine or None


FILES = {path: at for at, path in enumerate(sorted(Path(__file__).parent.rglob("test_*.py")))}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out the cases of parametrised tests that repeat the power of others.

    Of a test with several parameters the cases stay in which each value occurs; of a test marked
    with `few(n)`, n cases.  Which cases these are depends on no other test.  `make test-all` has
    another profile, and runs all of them.
    """
    if PROFILE != "quick":
        return
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not any(item.iter_markers("slow")):
            cases[item.parent, item.originalname].append(item)
    left_out = []
    for same in cases.values():
        few = same[0].get_closest_marker("few")
        if few:
            quick = drawn([item.name for item in same], few.args[0])
        else:
            quick = covering([values_of(item) for item in same])
        left_out += [same[at] for at in {*range(len(same))} - {*quick}]
    config.hook.pytest_deselected(items=left_out)
    gone = {*map(id, left_out)}
    items[:] = [item for item in items if id(item) not in gone]


def pytest_collection_finish():
    """Keep the tests out of the garbage collector, which would walk all of them at every call."""
    gc.collect()
    gc.freeze()


def values_of(item):
    """Return {names that are parametrised together: which of their values a case has}."""
    together = [mark.args[0] for mark in item.iter_markers("parametrize")]
    groups = [names.replace(" ", "").split(",") for names in together if isinstance(names, str)]
    groups += [[*names] for names in together if not isinstance(names, str)]
    grouped = {name for names in groups for name in names}
    groups += [[name] for name in item.callspec.params if name not in grouped]
    # The values are the same objects in every case; some cannot be hashed.
    return {tuple(names): tuple(id(item.callspec.params[n]) for n in names) for names in groups}


@pytest.fixture(autouse=True)
def usual_delays(monkeypatch):
    """Make calibration find the same delays on every machine, so that plans stay the same."""
    monkeypatch.setattr(calibration, "measured_delays", lambda: USUAL_DELAYS)


@pytest.fixture
def short_waits(monkeypatch):
    """Make closing and growing give up on open snapshots quickly."""
    monkeypatch.setattr(gate, "WAIT_SECONDS", 0.05)


@pytest.fixture
def any_limit(monkeypatch):
    """Let a limit of memory cut queries and runs into single queries and entries."""
    monkeypatch.setattr(many, "LEAST_QUERIES", 1)
    monkeypatch.setattr(many, "LEAST_ENTRIES", 1)


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
