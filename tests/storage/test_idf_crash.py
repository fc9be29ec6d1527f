"""A process killed while it sets an IDF table has set it, or has changed nothing."""

import os
from dataclasses import replace

import forked
import pytest
from soundness import assert_sound

import simdb

PLAIN = simdb.Simhash(shingle=1)
TABLE = simdb.fit_idf(["red green", "red green", "red"], PLAIN)
LACKING = simdb.Options(sketch=replace(PLAIN, weighting="tf-idf"), polytopes=4)

CHILD = """
import os, signal, sys
from dataclasses import replace
import simdb
from simdb.storage import contents
from simdb.storage import environment
from simdb.storage import idf_file

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def then_die(function):
    def run(*arguments, **named):
        function(*arguments, **named)
        die()
    return run

path, table, point, verb = sys.argv[1:]
options = simdb.Options(sketch=simdb.Simhash(shingle=1, weighting="tf-idf"))
table = simdb.load_idf(table)
if verb == "set":
    database = simdb.open(path)
if point == "while writing":
    idf_file.xxhash.xxh3_64_intdigest = die
elif point == "before the rename":
    idf_file.os.replace = die
elif point == "before the commit":
    contents.put_options = then_die(contents.put_options)
elif point == "after the commit":
    environment.Environment.write = then_die(environment.Environment.write)
if verb == "set":
    database.set_idf(table)
else:
    simdb.open(path, options=replace(options, sketch=replace(options.sketch, idf=table)))
print("survived")
"""


def run_until_killed(path, point, verb):
    table = path.parent / "fitted.idf"
    simdb.save_idf(TABLE, table)
    forked.run_until_killed(CHILD, path, table, point, verb)


@pytest.mark.parametrize("point", ["before the rename", "before the commit"])
def test_killed_before_the_commit_the_database_is_as_before(tmp_path, point):
    path = tmp_path / "db"
    simdb.open(path, options=LACKING).close()

    run_until_killed(path, point, "set")

    with simdb.open(path) as database:
        assert database.options == LACKING
        with pytest.raises(simdb.OptionError, match="set_idf"):
            database.insert(1, "red")
        other = simdb.fit_idf(["blue", "blue"], PLAIN)
        database.set_idf(other)
        database.insert(1, "red")
    with simdb.open(path) as database:
        assert database.options.sketch.idf == other
    assert "idf.table.new" not in os.listdir(path)
    assert_sound(path)


def test_killed_while_creating_the_database_can_be_created_otherwise(tmp_path):
    path = tmp_path / "db"

    run_until_killed(path, "while writing", "create")

    with simdb.open(path, options=simdb.Options(sketch=PLAIN)) as database:
        database.insert(1, "red")
        assert database.options.sketch.idf is None
    assert_sound(path)
