"""Large values are found in the map without reading their pages."""

import numpy as np
import pytest

import simdb
from simdb.core import memory
from simdb.storage import layout
from simdb.storage.file_map import find_map

COUNT = 20_000
BITS = np.arange(COUNT, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
KEY = layout.table_key(0, layout.KEYS)


@pytest.fixture
def large(open_database):
    database = open_database(options=simdb.Options(polytopes=0), durability="none")
    database.insert_many([f"{at}" for at in range(COUNT)], BITS)
    return database


@pytest.fixture
def found(large):
    """Return a function that finds a value, with the parts of the state that it needs."""
    environment = large._store.environment
    with large._store.state() as state:
        transaction = state.source.transaction
        manifest = environment.subdatabase(layout.MANIFEST)
        known = find_map(transaction, manifest, layout.MANIFEST_KEY, environment.used_bytes)

        def find(name, key, *, file_map=known):
            handle = environment.subdatabase(name)
            expected = transaction.get(key, db=handle)
            return file_map.value(transaction, handle, key), expected

        yield find


def address(value):
    return np.frombuffer(value, np.uint8).ctypes.data


@pytest.mark.parametrize("name", [layout.IDS, layout.table_name(3)])
def test_a_large_value_is_found_where_it_lies(found, name):
    value, expected = found(name, KEY)

    assert (address(value), len(value)) == (address(expected), len(expected))
    assert value.readonly


def test_only_what_a_read_transaction_fetched_has_pages_of_the_file(large):
    store = large._store
    with store.state() as state:
        table = state.runs[0].table(0, state.source)
        pages = state.source.pages_of(table.keys)
        copied = state.source.pages_of(table.keys.copy())

    def written(transaction):
        handle = store.environment.subdatabase(layout.IDS)
        source = store.source(inside=transaction)
        name, kind = layout.IDS, layout.TABLE_KINDS[layout.KEYS]
        transaction.put(KEY, bytes(transaction.get(KEY, db=handle)), db=handle)
        return source.pages_of(source.fetch(name, kind, KEY, "<u8"))

    assert pages.start >= table.keys.ctypes.data > pages.start - 4096
    assert pages.stop > pages.start
    assert copied is None
    assert store.environment.write(written) is None


@pytest.fixture
def in_group(monkeypatch, tmp_path):
    (tmp_path / "self").write_text("3:cpu:/\n0::/inner/own\n")
    path = memory.Path
    monkeypatch.setattr(
        memory,
        "Path",
        lambda name: tmp_path / "self" if name == "/proc/self/cgroup" else path(name),
    )
    yield tmp_path / "groups"
    memory.memory_bytes.cache_clear()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"inner/own": "1000000"}, 1_000_000),
        ({"inner/own": "max\n", "inner": "2000000\n"}, 2_000_000),
        ({"inner/own": "3000000", "inner": "max"}, 3_000_000),
        ({"inner/own": "max", "inner": "max"}, 9_000_000),
    ],
)
def test_the_memory_is_that_of_the_control_group(monkeypatch, in_group, files, expected):
    for name, text in files.items():
        (in_group / name).mkdir(parents=True, exist_ok=True)
        (in_group / name / "memory.max").write_text(text)
    (in_group / "memory.high").write_text("9000000")  # the least limit counts
    monkeypatch.setattr(memory, "LIMITS", ((in_group, "memory.max"), (in_group, "memory.high")))
    memory.memory_bytes.cache_clear()

    assert memory.memory_bytes() == expected


def test_a_limit_of_the_process_is_a_limit_of_the_memory(monkeypatch, in_group):
    monkeypatch.setattr(memory, "LIMITS", ((in_group, "memory.max"),))
    limits = {memory.resource.RLIMIT_AS: 7_000_000, memory.resource.RLIMIT_RSS: 6_000_000}
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (limits[kind], -1))
    memory.memory_bytes.cache_clear()

    assert memory.memory_bytes() == 6_000_000
