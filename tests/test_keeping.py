"""The rules that say which document of a group stays, in every front end."""

import json
from decimal import Decimal
from random import Random

import numpy as np
import pytest
from families import LEAST, is_alike
from over import over

import simdb
from simdb.cli.app import app
from simdb.core import keeping

NOTHING = (None, float("nan"), "")
WORDS_FOR_NOTHING = ("", " ", "-", "null", "NULL", "None", "NaN", "nan", "n/a", "N/A", "NA")


def order_of(rule, values=(), sizes=()):
    return keeping.order_of(
        keeping.parse(rule),
        max(len(values), len(sizes)),
        sizes=lambda: np.array(sizes, np.int64),
        values=lambda: values,
        where=lambda at: f"row {at}",
    ).tolist()


def by_double_loop(values, is_before):
    """Returns positions: in each step the first of those that none of the rest comes before."""
    rest = list(range(len(values)))
    order = []
    while rest:
        best = next(
            at for at in rest if not any(is_before(values[other], values[at]) for other in rest)
        )
        rest.remove(best)
        order.append(best)
    return order


@over("rule", ["best", "max:", "min", "max", "function", "", None, 3, ["first"]])
def test_what_is_no_rule_is_refused_with_all_rules(rule):
    with pytest.raises(simdb.OptionError, match=r"--keep must be .*'shortest', 'max:FIELD'"):
        keeping.parse(rule, "--keep")


@over("seed", range(3))
def test_the_order_is_that_of_a_double_loop_and_what_has_no_value_comes_last(seed):
    random = Random(seed)
    values = [random.choice([None, "", 1, 2.5, "2.5", "3", -7, float("nan")]) for _ in range(60)]
    sizes = [random.choice([-1, 0, 3, 3, 9]) for _ in range(60)]
    numbers = [None if value in NOTHING or value != value else float(value) for value in values]

    def before(sign):
        return lambda left, right: (
            left is not None and (right is None or sign * left < sign * right)
        )

    known = [None if size < 0 else size for size in sizes]
    assert order_of("min:n", values) == by_double_loop(numbers, before(1))
    assert order_of("max:n", values) == by_double_loop(numbers, before(-1))
    assert order_of(len, values) == by_double_loop(numbers, before(-1))
    assert order_of("shortest", sizes=sizes) == by_double_loop(known, before(1))
    assert order_of("longest", sizes=sizes) == by_double_loop(known, before(-1))
    assert order_of("first", values) == list(range(60))
    assert order_of("last", values) == list(range(60))[::-1]


@over(
    ("values", "first"),
    [
        (["9", "10", "x"], 1),
        (["2024-01-02", "2024-11-01", "2023-12-31"], 1),
        ([2**53, str(2**53 + 1), 2.0], 1),
        ([b"a", b"b"], 1),
        ([np.float32(1), np.int64(2)], 1),
        ([(1, 2), (1, 3)], 1),
        (["1", "inf", "2"], 2),
        (["1e400", "9" * 5000, "8" * 5001], 2),
        ([Decimal("1.5"), "2", np.int64(1), True], 1),
        (["1_000", "2", "2 0"], 1),
        (["+3", " 4 ", ".5", "5."], 3),
        (["1e999999999999999999999", "1"], 1),
        ([float("inf"), "1e300"], 0),
        (["b", "n/a", "a"], 0),
    ],
)
@pytest.mark.filterwarnings("ignore:.* are not numbers")
def test_the_greatest_number_comes_before_all_words(values, first):
    assert order_of("max:n", values)[0] == first


@over("rule", ["max:n", "min:n", lambda row: row])
@pytest.mark.filterwarnings("ignore:.* are not numbers")
def test_one_odd_value_moves_no_other_document(rule):
    random = Random(7)
    values = [random.choice([3, "10", 2.5, "9", "1e2", 2**70, str(2**70 + 1)]) for _ in range(40)]
    alone = order_of(rule, values)
    # A function of a row says what it compares.
    lists = [[1], {"a": 1}] if isinstance(rule, str) else []

    for odd in [*WORDS_FOR_NOTHING, None, float("nan"), "word", "2024-01-02", *lists]:
        assert order_of(rule, [*values, odd]) == [*alone, 40]
        assert order_of(rule, [odd, *values]) == [*(at + 1 for at in alone), 0]


def test_a_note_counts_the_values_that_are_no_numbers_where_others_are():
    notes = []
    for values in ([3, "x", None, "n/a", "", "4"], ["a", "n/a"], [1, None, "", float("nan")]):
        keeping.order_of(
            keeping.parse("max:n"), len(values), sizes=list, values=lambda values=values: values,
            where=str, note=notes.append,
        )  # fmt: skip

    assert notes == [
        "2 of 4 values of 'n' are not numbers, such as 'x'; they come after all numbers"
    ]
    with pytest.warns(RuntimeWarning, match="1 of 2 values of 'n' are not numbers, such as 'x'"):
        order_of("max:n", [1, "x"])


@over(
    ("rule", "values", "message"),
    [
        ("max:n", [None, [1]], "row 1: keep='max:n' needs numbers or text, and .* holds a list"),
        ("max:n", [{}], "holds a dict"),
        ("min:n", [b"a", 3], "values of the field 'n' cannot be ordered"),
        (len, [b"a", 3], "a function whose results cannot be ordered"),
    ],
)
def test_values_without_an_order_are_refused_with_their_place(rule, values, message):
    with pytest.raises(simdb.InputError, match=message):
        order_of(rule, values)


SCORES = [None, "", 1, 2, "10", "2.5", -3, "n/a", "b", "2024-01-02"]


def rows_of(seed):
    """Return rows in families, in mixed order, with scores of which some are text or missing."""
    random = Random(seed)
    lengths = [(family, 60 - random.randrange(16)) for family in range(12) for _ in range(5)]
    random.shuffle(lengths)
    texts = [" ".join(f"f{family}w{at}" for at in range(size)) for family, size in lengths]
    return [
        {"id": f"{at}", "text": text, "score": random.choice(SCORES)}
        for at, text in enumerate(texts)
    ]


def groups_of(rows, rule):
    """Return the stars of two or more: the ids of the members by the id that stays."""
    rows = [rows[at] for at in order_of(rule, [row["score"] for row in rows])]
    stars = {}
    for row in rows:
        alike = (each[0] for each in stars.values() if is_alike(row["text"], each[0]["text"]))
        stars.setdefault(next(alike, row)["id"], []).append(row)
    return {id: {each["id"] for each in star} for id, star in stars.items() if len(star) > 1}


def by_deduplicate(rows, rule):
    found = simdb.deduplicate(rows, id="id", keep=rule, recall=1.0)
    return {each.ids[0]: set(each.ids) for each in found.groups}, [row["id"] for row in found.data]


def by_database(rows, rule):
    texts = {row["id"]: row["text"] for row in rows}
    with simdb.open(None) as database:
        database.insert_many(
            list(texts), list(texts.values()), [{"score": each["score"]} for each in rows]
        )
        found = database.find_clusters(
            keep=rule, policy="star", verify="exact", texts=texts, similarity=LEAST, recall=1.0
        )
    left = {id for each in found for id in each.ids[1:]}
    return {each.ids[0]: set(each.ids) for each in found}, [id for id in texts if id not in left]


def by_command(rows, rule, folder):
    source, groups, kept = (folder / name for name in ("a.jsonl", "g.jsonl", "k.jsonl"))
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    app(
        ["dedup", str(source), "--keep", rule, "-o", str(kept), "--groups", str(groups), "--quiet",
         "--recall", "1"],
        standalone_mode=False,
    )  # fmt: skip
    found = map(json.loads, groups.read_text().splitlines())
    members = {
        row["representative"]: {row["representative"], *(each["id"] for each in row["duplicates"])}
        for row in found
    }
    return members, [json.loads(line)["id"] for line in kept.read_text().splitlines()]


@pytest.mark.parametrize("rule", ["max:score", "min:score"])
@pytest.mark.filterwarnings("ignore:.* are not numbers")
def test_every_front_end_keeps_the_same_documents_of_the_same_groups(rule, tmp_path, monkeypatch):
    monkeypatch.setattr("simdb.database.clusters.find.BATCH_TEXTS", 7)
    rows = rows_of(len(rule))

    found = [by_deduplicate(rows, rule), by_database(rows, rule), by_command(rows, rule, tmp_path)]

    groups = groups_of(rows, rule)
    left = {id for leader, group in groups.items() for id in group if id != leader}
    assert len(groups) >= 12
    assert found == [(groups, [row["id"] for row in rows if row["id"] not in left])] * 3


def test_a_function_of_the_row_or_of_the_metadata_keeps_its_greatest_result():
    rows = rows_of(7)
    texts = {row["id"]: row["text"] for row in rows}
    with simdb.open(None) as database:
        database.insert_many(list(texts), list(texts.values()), [{"n": int(id)} for id in texts])

        clusters = database.find_clusters(
            keep=lambda metadata: metadata["n"] % 7, policy="star", verify="exact",
            texts=texts, similarity=LEAST, recall=1.0,
        )  # fmt: skip

    found = simdb.deduplicate(rows, id="id", keep=lambda row: int(row["id"]) % 7, recall=1.0)
    leaders = [each.representative for each in clusters]
    assert leaders == [each.representative for each in found.groups] != sorted(leaders, key=int)
