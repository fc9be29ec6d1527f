"""Cold modules are loaded when they are first used, and not before."""

import ast
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from forked import code_of_child

import simdb
from simdb.core.cold import MadeOnce
from simdb.database import maintenance

FOLDERS = [maintenance]
# Modules of other packages that take long to import and that few programs need.
FOREIGN = [
    "importlib.metadata", "numpy.random", "statistics", "pyarrow", "selectolax", "rich", "msgspec",
    "jinja2",
]  # fmt: skip
# Modules that one query in a database of fingerprints does not need.
UNUSED_BY_A_QUERY = [
    "files.batch", "files.records", "database.clusters.find", "database.search.explanation",
    "database.search.many",
    "database.search.pairs", "database.snapshot",
    "database.state.signature_kind", "database.transaction", "plan.banding",
    "sketch.minhash_sketcher",
]  # fmt: skip
# Modules that opening a database does not need, and those that dedup does not need without one.
UNUSED_BY_OPEN = [
    "numpy.random", "html", "decimal", "simdb.core.keeping", "simdb.sketch.markup",
    "simdb.storage.field_codes", "simdb.storage.membership", "simdb.storage.passages",
    "simdb.storage.salvage", "simdb.storage.transfer", "simdb.database.sharding",
    "simdb.database.clusters.find", "simdb.sketch.tuning",
]  # fmt: skip
UNUSED_BY_DEDUP = [
    *FOREIGN, "html", "simdb.database.database", "simdb.database.reading",
    "simdb.database.functions", "simdb.database.snapshot", "simdb.database.transaction",
    "simdb.database.write", "simdb.jobs.report.page", "simdb.jobs.report.facts",
    "simdb.jobs.report.excerpts", "simdb.jobs.deduplication.claims",
    "simdb.jobs.deduplication.repeat", "simdb.jobs.deduplication.sieve",
    "simdb.sketch.tuning.tune", "simdb.storage.salvage",
]  # fmt: skip
USE = """
with simdb.open({path!r}) as database:
    database.insert("a", "the quick brown fox jumps over the lazy dog")
    database.insert_many(["b", "c"], ["a text", "another text"])
    database.query("the quick brown fox jumps over a lazy dog")
    database.find_clusters()
"""
# A child that is forked by another thread while a module is loaded waits for it without end, unless
# whoever loads it holds LOADING.
WATCH = """
import sys
from simdb.core.cold import LOADING
class Watch:
    def find_spec(self, name, path=None, target=None):
        if not LOADING._is_owned():
            print("unlocked:" + name)
sys.meta_path.insert(0, Watch())
"""


def modules_after(code):
    """Return the modules that a new process has loaded after `import simdb` and `code`."""
    program = f"import sys\nimport simdb\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


def modules_of_program(*arguments):
    """Return the modules that a process of the program has loaded when it ends."""
    code = (
        f"sys.argv = ['simdb', *{arguments!r}]; import atexit\n"
        "atexit.register(lambda: print(*sys.modules, sep='\\n'))\n"
        "from simdb.cli.app import main; main()"
    )
    return modules_after(code)


def cold_modules():
    return {f"{folder.__name__}.{name}" for folder in FOLDERS for name in folder.__all__}


def test_a_cold_folder_names_each_of_its_modules():
    for folder in FOLDERS:
        files = Path(folder.__file__).parent.glob("[!_]*.py")
        assert sorted(path.stem for path in files) == folder.__all__


def test_importing_storing_and_searching_load_no_cold_module(tmp_path):
    imported, used = modules_after(""), modules_after(USE.format(path=str(tmp_path / "db")))

    assert imported.isdisjoint({*FOREIGN, "simdb.core.reports", "simdb.cli.app"})
    assert imported.isdisjoint({"numpy", "lmdb", "simdb.database"})
    assert used.isdisjoint(cold_modules())


def test_opening_a_database_loads_only_what_every_database_needs(tmp_path):
    path = str(tmp_path / "db")

    made = modules_after(f"simdb.open({path!r}).close()")
    opened = modules_after(f"simdb.open({path!r}).close()")

    assert "simdb.database.database" in made & opened
    assert made.isdisjoint(UNUSED_BY_OPEN)
    assert opened.isdisjoint(UNUSED_BY_OPEN)


def test_a_small_dedup_loads_neither_the_verbs_of_a_database_nor_a_library(tmp_path):
    lines = [f'{{"id": {at}, "text": "the quick brown fox {at} jumps"}}' for at in range(10)]
    (tmp_path / "ten.jsonl").write_text("\n".join(lines), encoding="utf-8")

    loaded = modules_of_program("dedup", str(tmp_path / "ten.jsonl"))

    assert "simdb.jobs.deduplication.job" in loaded
    assert loaded.isdisjoint(UNUSED_BY_DEDUP)


VERBS = """
database.query(5, distance=1)
database.query('the quick brown fox jumps over a lazy dog')
database.query_many(['a text', 'ein anderer Text, \u00fcber 100 Zeichen'])
database.find_all(); database.find_clusters(); database.find_all(distance=3)
database.insert(7, 'a seventh text'); database.delete(7); database.compact()
database.read().close(); database.stats(); database.check()
"""


def test_no_call_of_an_open_database_loads_a_module_that_a_forked_child_may_wait_for(tmp_path):
    path = str(tmp_path / "db")
    exec(USE.format(path=path), {"simdb": simdb})

    loaded = modules_after(
        f"database = simdb.open({path!r})\n{WATCH}\n{VERBS}\nsys.meta_path.pop(0)"
    )

    assert {each for each in loaded if each.startswith("unlocked:")} == set()


HELP_OF_ALL = """
import contextlib, io
from simdb.cli import NAMES
from simdb.cli.app import app
with contextlib.redirect_stdout(io.StringIO()) as shown:
    for words in ([], *([name] for name in NAMES), ["spark", "dedup"]):
        app([*words, "--help"], standalone_mode=False)
assert shown.getvalue().count("Usage:") == len(NAMES) + 2
"""
# A module of simdb that help may load: the command line, doors, and modules without numpy.
CORE = r"\.core\.(choices|cold|errors|foreign|values)"
LIGHT = re.compile(rf"simdb(\.cli.*|\.\w+|{CORE}|\.files\.rows)?")


def test_the_help_of_every_command_loads_no_library_and_nothing_that_it_configures():
    loaded = modules_after(HELP_OF_ALL)

    assert loaded.isdisjoint({"numpy", "lmdb", "decimal", "tempfile", *FOREIGN})
    own = {each for each in loaded if each.partition(".")[0] == "simdb"}
    assert {each for each in own if not LIGHT.fullmatch(each)} == set()


def test_help_loads_no_library_and_a_query_no_other_command_nor_what_draws(tmp_path):
    path = str(tmp_path / "db")
    simdb.open(path).close()

    shown, queried = modules_of_program("--help"), modules_of_program("query", path, "a text")

    libraries = {"numpy", "lmdb", "simdb.database", "simdb.core.kernel", "simdb.cli.query"}
    assert "simdb.cli.app" in shown
    assert shown.isdisjoint(libraries)
    assert "simdb.cli.query" in queried
    assert queried.isdisjoint({f"simdb.{each}" for each in UNUSED_BY_A_QUERY})
    others = {"rich", "simdb.cli.dedup", "simdb.database.functions"}
    assert queried.isdisjoint({*cold_modules(), *others})


def test_the_names_that_are_loaded_late_are_the_names_that_type_checkers_see():
    stub = Path(simdb.__file__).with_suffix(".pyi")
    imports = [
        node
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
    ]

    seen = {(node.module, alias.name) for node in imports for alias in node.names}

    for module, name in seen:
        assert getattr(simdb, name) is getattr(import_module(module), name)
    assert {name for _, name in seen} | {"__version__"} == set(simdb.__all__)


# Two threads that import two packages for the first time, at the same moment.
IMPORT_IN_THREADS = """
import threading
from importlib import import_module
barrier, failed = threading.Barrier(2), []
def load(name):
    barrier.wait()
    try:
        import_module(name)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=load, args=[name]) for name in {names!r}]
for each in threads: each.start()
for each in threads: each.join()
assert failed == [], failed
"""


def test_two_threads_may_import_two_packages_first():
    """With names from the module of the doors, half of such pairs ended in a deadlock.

    Six of them all go well by chance once in 64 times.
    """
    for other in ["simdb.compat", "simdb.compat.datasketch"] * 3:
        code = IMPORT_IN_THREADS.format(names=["simdb.spark", other])
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_every_public_name_can_be_listed_imported_and_used():
    names = {}

    exec("from simdb import *", names)

    assert set(simdb.__all__) <= set(names)
    assert dir(simdb) == sorted(simdb.__all__)
    assert all(getattr(simdb, name) is names[name] for name in simdb.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'simdb' has no attribute 'unknown'"):
        simdb.unknown  # noqa: B018
    with pytest.raises(AttributeError, match=r"maintenance' has no attribute 'unknown'"):
        maintenance.unknown  # noqa: B018


@pytest.mark.parametrize("name", ["simdb", "simdb.spark.distributed", "simdb.spark"])
def test_a_package_travels_to_other_processes(name):
    """Ray refused a function that uses simdb, as it could not pickle the module."""
    package = import_module(name)

    assert pickle.loads(pickle.dumps(package)) is package


class Slow:
    def __init__(self, wait):
        self._wait = wait

    @MadeOnce
    def value(self):
        """A new object."""
        self._wait()
        return object()


def test_what_is_made_once_is_kept():
    one, other = Slow(list), Slow(list)

    assert one.value is one.value
    assert one.value is not other.value
    assert Slow.value.__doc__ == "A new object."


def test_a_child_forked_while_a_thread_makes_a_value_makes_that_of_another_object():
    code = code_of_child(lambda: Slow(list).value, meanwhile=lambda wait: Slow(wait).value)

    assert code == 0
