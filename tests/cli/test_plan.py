"""Commands plan and calibrate."""

import random

import pytest

import simdb


@pytest.fixture
def filled(simdb_run, write_lines):
    """Makes a database of 150 pairs of texts that differ in one word; returns a file of 150."""
    generator = random.Random(4)
    records = []
    for at in range(150):
        words = [f"w{generator.randrange(3000)}" for _ in range(120)]
        records.append({"id": f"a{at}", "text": " ".join(words)})
        words[generator.randrange(120)] = "changed"
        records.append({"id": f"b{at}", "text": " ".join(words)})
    assert simdb_run("insert", "db", write_lines("all.jsonl", *records)).code == 0
    return write_lines("some.jsonl", *records[::2])


def test_a_plan_without_a_database_lists_other_plans(simdb_run):
    ran = simdb_run("plan", "--documents", "8e9", "--distance", 3, "--no-weights")

    row = ran.rows[0]
    assert (ran.code, row["method"], row["tables"]) == (0, "bphs", 4)
    assert "in each of 2 databases" in row["reason"]
    assert "cheapest" in row["choice"]
    times = [way["microseconds"] for way in row["considered"] if way["recall"] == 1.0]
    assert times == sorted(times)


def test_a_plan_without_weights_is_of_the_four_tables_of_a_database_without_them(simdb_run):
    row = simdb_run("plan", "--documents", "1e8", "--no-weights").rows[0]
    refused = simdb_run("plan", "--documents", "1e8", "--no-weights", "--minhash")

    assert (row["method"], row["tables"], row["distance"]) == ("bphs", 4, 3)
    assert refused.code == 2
    assert "--no-weights work only with fingerprints" in refused.notes


def test_a_plan_without_a_database_takes_options_of_a_database(simdb_run):
    ran = simdb_run(
        "plan", "--documents", 1e6, "--blocks", 6, "--leading", 3, "--header-offset", 0,
        "--distance", 3, "--search", "bphs",
    )  # fmt: skip

    row = ran.rows[0]
    assert (row["tables"], row["header_bits"]) == (20, 19)
    assert row["bytes_per_document"] == pytest.approx(20 * (12 + 4 * 2**19 / 1e6), abs=1e-3)


def test_a_plan_for_a_size_of_memory_shows_the_smallest_database(simdb_run):
    row = simdb_run(
        "plan", "--documents", "8e9", "--blocks", 4, "--distance", 3, "--memory", "128G"
    ).rows[0]
    none = simdb_run("plan", "--documents", "8e9", "--no-weights").rows[0]

    assert (row["smallest"]["method"], row["smallest"]["page_reads"]) == ("psm", 0)
    assert "--blocks 1, --leading 1 and --no-volatility" in row["smallest"]["reason"]
    assert row["page_reads"] > 50
    assert none["smallest"] is None


def test_zero_documents_can_be_planned(simdb_run):
    row = simdb_run("plan", "--documents", 0).rows[0]

    assert row["queries_per_second"] is None


def test_a_plan_is_for_the_documents_of_a_database_or_for_more(simdb_run, filled):
    now = simdb_run("plan", "db", "--distance", 3).rows[0]
    later = simdb_run("plan", "db", "--documents", 1e7, "--distance", 3).rows[0]

    with simdb.open("db", "r") as database:
        assert now["reason"] == database.plan(distance=3).reason
    assert later["method"] == "psm"


def test_calibrate_shows_counts_and_the_cost_of_queries(simdb_run, filled):
    ran = simdb_run("calibrate", "db", "--sample", 300)

    row = ran.rows[0]
    curve = row["recalls"]
    assert (ran.code, row["queries"], row["documents"]) == (0, 300, 300)
    assert row["pairs"] >= row["matching_pairs"] == 300
    assert row["nanoseconds"]["memory"] == 30.0
    assert [(each["recall"], each["tables"]) for each in curve] == [
        (recall, 1) for recall in (0.8, 0.9, 0.95, 0.99)
    ]
    assert all(each["reached"] >= each["recall"] for each in curve if each["theta"] is not None)
    assert "300 sampled pairs" in curve[0]["reason"]


def test_calibrate_takes_a_noise_by_hand(simdb_run, filled):
    ran = simdb_run("calibrate", "db", "--noise", 0.12)
    wrong = simdb_run("calibrate", "db", "--noise", 0.5)
    both = simdb_run("calibrate", "db", "--noise", 0.1, "--sample", 5)
    plan = simdb_run("plan", "db", "--distance", 3, "--search", "psm").rows[0]

    assert (ran.code, ran.rows[0]["noise"], ran.rows[0]["pairs"]) == (0, 0.12, 0)
    assert "noise 0.12 as given" in plan["reason"]
    assert (wrong.code, both.code) == (2, 2)
    assert "from 0.05 to 0.3" in wrong.notes


def test_calibrate_takes_the_documents_of_a_source(simdb_run, filled, write_lines):
    ran = simdb_run("calibrate", "db", "--documents", filled)
    bad = simdb_run(
        "calibrate", "db", "--documents", write_lines("bad.jsonl", {"no": "text"}, {"text": "a"})
    )

    assert (ran.code, ran.rows[0]["queries"]) == (0, 300 + 150)
    assert bad.code == 1
    assert "bad.jsonl" in bad.notes
