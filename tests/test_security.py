"""The promises of SECURITY.md."""

import ast
import io
import os
import stat
import struct
import sys
import tracemalloc
from dataclasses import replace

import pytest
from dumps import rewritten
from over import over
from source_trees import PACKAGE, name_of, nodes_of, text_of

import simdb
from simdb.storage import codec, layout
from simdb.storage.manifest import decode_manifest, encode_manifest

SOURCES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}
# Its unpickler lets pickles import and call nothing, see tests/compat/test_pickled.py.
READS_PICKLES = PACKAGE / "compat" / "importing.py"
# Like `dataclasses`, it compiles the `__init__` of a class of this package from names of fields.
COMPILES_FIELDS = PACKAGE / "core" / "values.py"
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
# The modules that import others by name: tokenisers, when they are allowed; optional packages; and
# modules of simdb and of the standard library that are loaded when first used.
IMPORTING = {
    "sketch/normalisation.py", "sketch/pipeline.py", "sketch/markup.py", "core/arrow.py",
    "core/cold.py", "core/checks.py", "sketch/vectors.py",
    "core/previews.py", "cli/mcp.py", "jobs/report/page.py", "core/compression.py",
    "files/content.py", "files/remote.py", "files/crawls.py", "files/mail.py",
    "core/decoding.py", "spark/frames.py", "core/progress.py",
}  # fmt: skip


def test_nothing_is_unpickled_or_evaluated():
    wrong = [each for path in SOURCES for each in dangers_of(path)]

    assert wrong == []


def dangers_of(path):
    """Yield a message for each import or call that could run what a file says."""
    allowed = {"pickle"} if path == READS_PICKLES else set()
    imported = {
        name.partition(".")[0]
        for node in nodes_of(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
        )
    }
    if imported & FORBIDDEN_MODULES != allowed:
        yield f"{name_of(path)} imports {imported & FORBIDDEN_MODULES}"
    calls = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
    names = {function.id for function in calls if isinstance(function, ast.Name)}
    if names & FORBIDDEN_CALLS != ({"exec"} if path == COMPILES_FIELDS else set()):
        yield f"{name_of(path)} calls {names & FORBIDDEN_CALLS}"
    if "allow_pickle" in text_of(path):
        yield f"{name_of(path)} allows pickles"
    called = names | {getattr(function, "attr", "") for function in calls}
    if called & {"import_module", "installed"} and str(path.relative_to(PACKAGE)) not in IMPORTING:
        yield f"{name_of(path)} imports modules by name"


def test_no_file_is_open_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        sketch = simdb.Simhash(shingle=1, weighting="tf-idf")
        with simdb.open(tmp_path / "db", options=simdb.Options(sketch=sketch)) as database:
            database.fit_idf(["red green", "green blue"])
            database.insert_many(range(9), ["red green blue"] * 9, ["m"] * 9)
            database.calibrate()
            database.compact()
            database.rebuild()
            database.copy(tmp_path / "copy")
            database.dump(tmp_path / "dump")
        simdb.load(tmp_path / "dump", tmp_path / "loaded")
        with simdb.open(tmp_path / "copy", "r"), simdb.open(tmp_path / "loaded", "r"):
            pass
    finally:
        os.umask(before)

    found = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert len(found) > 15
    assert {str(path): mode for path, mode in found.items() if mode & 0o077} == {}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}


def test_loading_a_dump_imports_nothing(tmp_path):
    (tmp_path / "evil_tokens.py").write_text("raise SystemExit('imported')")
    sys.path.insert(0, str(tmp_path))
    try:
        with simdb.open(tmp_path / "db") as database:
            database.insert(1, "red green blue")
            stream = io.BytesIO()
            database.dump(stream)

        def rename(found):
            found[0][1]["options"]["sketch"]["tokeniser"] = "evil_tokens:run"
            return found

        simdb.load(io.BytesIO(rewritten(stream.getvalue(), rename)), tmp_path / "new")
        with simdb.open(tmp_path / "new") as loaded:
            assert loaded.query(id=1) == []
            with pytest.raises(simdb.OptionError, match="allow"):
                loaded.query("red green")
        assert "evil_tokens" not in sys.modules
    finally:
        sys.path.remove(str(tmp_path))


LONG = (1 << 32) - 1


@over(
    "payload",
    [
        *(head + LONG.to_bytes(4, "big") for head in (b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9")),
        b"\xdd" + LONG.to_bytes(4, "big") + bytes(1 << 20),
        (b"\xdd" + (1 << 20).to_bytes(4, "big")) * 1000 + bytes(1 << 20),
        (b"\xdf" + (1 << 19).to_bytes(4, "big")) * 1000 + bytes(1 << 20),
        (b"\xdd" + (1 << 12).to_bytes(4, "big")) * 800,
        b"\x91" * 100_000 + b"\0",
        b"\x81\x90\1",
        b"\x81\x80\1",
    ],
)
def test_no_stored_length_takes_memory_that_the_value_has_not(payload):
    tracemalloc.start()
    try:
        with pytest.raises(simdb.CorruptError):
            codec.unpack(payload, "here")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 16 * len(payload) + (1 << 24)


def test_a_manifest_of_more_documents_than_the_file_can_hold_is_refused(tmp_path):
    with simdb.open(tmp_path / "db") as database:
        database.insert_many(range(9), range(9))
        database.compact()
        environment = database._store.environment
        handle = environment.subdatabase(layout.MANIFEST)

        def write(transaction):
            manifest = decode_manifest(transaction.get(layout.MANIFEST_KEY, db=handle))
            row = replace(manifest.runs[0], stop=1 << 31)
            changed = replace(manifest, runs=(row,), delta_start=1 << 31, next_ordinal=1 << 31)
            transaction.put(layout.MANIFEST_KEY, encode_manifest(changed), db=handle)

        environment.write(write)

    with simdb.open(tmp_path / "db", "r") as database:
        tracemalloc.start()
        try:
            with pytest.raises(simdb.CorruptError, match="2147483648 documents"):
                list(database)
            assert tracemalloc.get_traced_memory()[1] < 1 << 24
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("is_pipe", [True, False])
@pytest.mark.parametrize(
    "start",
    [
        b"\xff\xff\xff\xff" + struct.pack("<i", 2**31 - 1),
        b"simdbdmp" + struct.pack("<II4sIQQ", 1, 0, b"head", 0, 1 << 40, 0),
    ],
)
def test_a_length_in_a_dump_takes_no_memory_before_its_bytes_have_come(tmp_path, is_pipe, start):
    lie = start + bytes(1000)
    (tmp_path / "lie").write_bytes(lie)
    source = io.BytesIO(lie) if is_pipe else tmp_path / "lie"

    tracemalloc.start()
    try:
        with pytest.raises(simdb.CorruptError, match="cut off"):
            simdb.load(source, tmp_path / "new")
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()
