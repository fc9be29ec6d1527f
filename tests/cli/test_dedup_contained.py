"""`simdb dedup --rule contained` leaves out only what is wholly in a document that is kept."""

import json
from pathlib import Path

import pytest
from over import over

BASE = " ".join(f"w{at}" for at in range(40))
TEXTS = {"short": BASE, "long": f"{BASE} a", "other": f"{BASE} b"}


@pytest.fixture
def run(simdb_run):
    written("texts.jsonl", TEXTS)
    return lambda source, *words: simdb_run("dedup", source, "--rule", "contained", *words)


def written(name, texts):
    rows = [{"id": id, "text": text} for id, text in texts.items()]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_longer_document_stays_and_rows_say_what_is_lost(run):
    [strict] = run("texts.jsonl").rows
    [loose] = run("texts.jsonl", "--lose", "1", "--groups", "groups.csv").rows

    assert strict["representative"] == "long"
    assert [(each["id"], each["lost"]) for each in strict["duplicates"]] == [("short", 0)]
    assert [(each["id"], each["lost"]) for each in loose["duplicates"]] == [
        ("short", 0), ("other", 1),
    ]  # fmt: skip
    lines = Path("groups.csv").read_text().split()
    assert [line.rsplit(",", 1)[1] for line in lines] == ["lost", "0", "1"]


def test_a_new_database_stores_features_by_which_later_runs_decide(run):
    written("later.jsonl", {"shorter": BASE[:-4], "longer": f"{BASE} a c"})

    first = run("texts.jsonl", "--db", "texts.simdb")
    second = run("later.jsonl", "--db", "texts.simdb")

    assert [(row["id"], row["match"]) for row in first.rows] == [("short", "long")]
    assert [row["id"] for row in second.rows] == ["shorter"]


@over(
    ("wrong", "message"),
    [
        (["--lose", "1", "--db", "texts.simdb"], "--lose works only without a database"),
        (["--verify", "estimate"], "--rule contained"),
    ],
)
def test_what_does_not_go_with_the_rule_is_wrong_use(run, wrong, message):
    ran = run("texts.jsonl", *wrong)

    assert ran.code == 2
    assert message in ran.notes


def test_without_the_rule_nothing_is_counted_that_could_be_lost(simdb_run):
    written("texts.jsonl", TEXTS)

    ran = simdb_run("dedup", "texts.jsonl", "--lose", "1")

    assert ran.code == 2
    assert "--lose works only with --rule contained; give both" in ran.notes


def test_the_usual_threshold_is_that_of_sets_whatever_the_sketch_weighs(run):
    written("texts.jsonl", {"whole": BASE, "part": " ".join(BASE.split()[:34])})

    [found] = run("texts.jsonl", "--weighting", "tf").rows

    assert [each["id"] for each in found["duplicates"]] == ["part"]


def test_texts_decide_for_a_reference_without_features(run, simdb_run):
    written("stored.jsonl", {"long": f"{BASE} a"})
    simdb_run("dedup", "stored.jsonl", "--db", "plain.simdb")
    written("texts.jsonl", {"short": BASE, "other": f"{BASE} b"})
    against = ["texts.jsonl", "--against", "plain.simdb"]

    [found] = run(*against, "--texts", "stored.jsonl").rows
    refused = run(*against)

    assert (found["representative"], found["reference"]) == ("long", True)
    assert [each["id"] for each in found["duplicates"]] == ["short"]
    assert refused.code == 2
    assert "--rule contained needs a database with --features" in refused.notes


def test_a_database_that_stores_no_features_is_refused_whatever_texts_are_given(run, simdb_run):
    written("texts.jsonl", TEXTS)
    simdb_run("dedup", "texts.jsonl", "--db", "plain.simdb")

    ran = run("texts.jsonl", "--db", "plain.simdb", "--texts", "texts.jsonl")

    assert ran.code == 2
    assert "needs a database of word 3-grams, with --features" in ran.notes
    assert "--texts" not in ran.notes
