"""Ids have the type that a program names, and Any where it names none: no user needs a cast."""

import pytest
from type_checking import checked

import simdb

# A program of a user who names no type of ids, and one who does.
UNNAMED = """\
import simdb


def best(database: simdb.Database, text: str) -> str:
    found: str = database.query(text)[0].id
    return found


def number(pairs: simdb.Pairs) -> int:
    first: int = pairs[0].left
    return first


with simdb.open("path", "c") as opened:
    name: str = opened.query("text")[0].id
    names: list[str] = list(opened)
    print(best(opened, name), number(opened.find_all()), names)
"""
NAMED = """\
import simdb


def accepted(id: str) -> bool:
    return id != ""


database: simdb.Database[str] = simdb.open("path", "c")
texts: dict[str, str] = {"a": "text"}
database.insert("a", "text")
database.insert_many(texts, texts.values())
match = database.first("text", accept=accepted)
if match is not None:
    upper: str = match.id.upper()
    id, distance, similarity = match
for each in database.query_many(["text"])[0]:
    print(each.id.upper())
for cluster in database.find_clusters(texts=texts):
    print(cluster.representative.upper(), [id.upper() for id in cluster])
for pair in database.find_all():
    print(pair.left.upper(), pair.right.upper())
print([id.upper() for id in database], database["a"].id.upper())
print([id.upper() for id in database.cluster("a")])
with database.read() as snapshot, database.write() as transaction:
    print(snapshot.query("text")[0].id.upper())
    claimed = transaction.add_if_new("b", "text")
    if claimed is not None:
        print(claimed.id.upper())
"""
# What has another type than the program says, and what the checker calls it.
WRONG = [
    ("database.insert(1, 'text')", "int"),
    ("database.insert_many([1], ['text'])", "int"),
    ("database.add_if_new(b'a', 'text')", "bytes"),
    ("database[1]", "int"),
    ("database.delete(1)", "int"),
    ("database.query('text')[0].id + 1", "int"),
    ("[id + 1 for id in database]", "int"),
    ("database.find_all()[0].left + 1", "int"),
    ("other: simdb.Database[float]", "float"),
]


@pytest.mark.more
def test_a_strict_program_that_names_no_type_of_ids_has_no_error(tmp_path):
    assert checked(tmp_path, UNNAMED) == []


@pytest.mark.more
def test_a_strict_program_that_names_its_type_of_ids_has_no_error(tmp_path):
    assert checked(tmp_path, NAMED) == []


@pytest.mark.more
def test_a_type_checker_finds_ids_of_another_type(tmp_path):
    first = NAMED.count("\n") + 1

    errors = checked(tmp_path, NAMED + "\n".join(code for code, _ in WRONG) + "\n")

    lines = {int(error.split(":")[1]): error for error in errors if " error: " in error}
    assert sorted(lines) == list(range(first, first + len(WRONG)))
    for number, (_, named) in enumerate(WRONG, first):
        assert f'"{named}"' in lines[number]


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2], [b"a", b"b"], ["a", 2]])
def test_at_run_time_ids_of_every_type_are_stored(ids, database):
    named: simdb.Database[str] = database

    named.insert_many(ids, [0, 1])

    assert list(named) == ids
    assert [match.id for match in named.query(0, distance=1)] == ids


def test_a_class_is_given_the_type_of_its_ids_at_run_time_too():
    for each in (simdb.Database, simdb.Match, simdb.Matches, simdb.Pair, simdb.Pairs):
        assert each[str].__args__ == (str,)
