"""The rules that say which document stays mean the same in every front end."""

import json
from random import Random

import pytest

import simdb
from simdb.cli.app import app

RULES = ["first", "last", "longest", "shortest", "max:score", "min:score"]
LEAST = 0.8


def shingles_of(text):
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def rows_of(seed):
    """Returns rows in families, in mixed order, with values of which some are text or missing."""
    random = Random(seed)
    rows = []
    for family in range(12):
        words = [f"f{family}w{at}" for at in range(60)]
        rows += [
            {
                "text": " ".join(words[: 60 - random.randrange(16)]),
                "score": random.choice([None, "", 1, 2, "10", "2.5", -3, "n/a", "b", "2024-01-02"]),
            }
            for _ in range(5)
        ]
    random.shuffle(rows)
    return [{"id": f"{at}", **row} for at, row in enumerate(rows)]


def place_of(score, sign):
    """Returns what a score is sorted by: numbers first, then words by rank, nothing last."""
    if score in (None, "", "n/a"):
        return 2, 0
    words = ["2024-01-02", "b"]
    return (1, sign * words.index(score)) if score in words else (0, sign * float(score))


def order_of(rows, rule):
    """Returns the positions of the rows as the rule prefers them."""
    sizes = [len(row["text"]) for row in rows]
    sign = -1 if rule == "max:score" else 1
    keys = {
        "first": list(range(len(rows))),
        "last": [-at for at in range(len(rows))],
        "longest": [-size for size in sizes],
        "shortest": sizes,
    }.get(rule, [place_of(row["score"], sign) for row in rows])
    return sorted(range(len(rows)), key=keys.__getitem__)


def groups_of(rows, rule):
    """Returns the stars of two or more: the ids of the members by the id that stays."""
    sets = [shingles_of(row["text"]) for row in rows]
    stars = {}
    for at in order_of(rows, rule):
        alike = (
            leader
            for leader in stars
            if len(sets[at] & sets[leader]) / len(sets[at] | sets[leader]) >= LEAST
        )
        stars.setdefault(next(alike, at), []).append(at)
    return {
        rows[leader]["id"]: {rows[at]["id"] for at in group}
        for leader, group in stars.items()
        if len(group) > 1
    }


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


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.filterwarnings("ignore:.* are no numbers")
def test_every_front_end_keeps_the_same_documents_of_the_same_groups(rule, tmp_path, monkeypatch):
    monkeypatch.setattr("simdb.database.clusters.find.READ_TOGETHER", 7)
    rows = rows_of(RULES.index(rule))

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
