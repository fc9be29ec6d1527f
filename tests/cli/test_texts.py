"""Stored texts from the command line: create --texts, dedup --store-texts, and what reads them."""

import simdb

FOX = "the quick brown fox jumps over the lazy dog near the river bank on a sunny day"
NEAR = FOX.replace("sunny", "rainy")
OTHER = "an entirely different text about birds and their nests in early spring"
LEAST = ("--similarity", "0.6")


def rows_of(*texts):
    return [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)]


def created(simdb_run, write_lines, *options):
    write_lines("texts.jsonl", *rows_of(FOX, NEAR, OTHER))
    assert simdb_run("create", "db", *options).code == 0
    assert simdb_run("insert", "db", "texts.jsonl").code == 0


def test_get_shows_the_texts_that_are_stored(simdb_run, write_lines):
    created(simdb_run, write_lines, "--texts")

    (row,) = simdb_run("get", "db", "d0").rows
    assert row["text"] == FOX
    assert simdb_run("stats", "db").rows[0]["options"]["texts"] is True


def test_pairs_and_clusters_are_decided_and_shown_by_stored_texts(simdb_run, write_lines):
    created(simdb_run, write_lines, "--texts")
    exact = simdb.similarity(FOX, NEAR)

    (pair,) = simdb_run("pairs", "db", *LEAST, "--show", "20").rows
    assert (pair["left_text"][:19], pair["right_text"][:19]) == (FOX[:19], NEAR[:19])
    assert abs(pair["similarity"] - exact) < 1e-4
    (estimated,) = simdb_run("pairs", "db", *LEAST, "--verify", "estimate", "--show", "9").rows
    assert estimated["similarity"] != pair["similarity"]
    (cluster,) = simdb_run("clusters", "db", *LEAST, "--verify", "numbers", "--show", "9").rows
    assert [text[:8] for text in cluster["texts"]] == [FOX[:8], NEAR[:8]]


def test_estimates_decide_if_they_are_asked_for_though_features_are_stored(simdb_run, write_lines):
    created(simdb_run, write_lines, "--features")

    (pair,) = simdb_run("pairs", "db", *LEAST, "--verify", "exact").rows
    (estimated,) = simdb_run("pairs", "db", *LEAST, "--verify", "estimate").rows

    assert abs(pair["similarity"] - simdb.similarity(FOX, NEAR)) < 1e-4
    assert estimated["similarity"] != pair["similarity"]


def test_without_stored_texts_they_are_asked_for(simdb_run, write_lines):
    created(simdb_run, write_lines, "--features")

    for options in (("--show", "9"), ("--verify", "numbers")):
        ran = simdb_run("pairs", "db", *options)
        assert ran.code == 2
        assert "needs --texts SOURCE: this database has no texts" in ran.notes


def test_lookup_shows_stored_texts_and_query_measures_with_them(simdb_run, write_lines):
    created(simdb_run, write_lines, "--texts", "--passages")
    write_lines("new.jsonl", {"id": "new", "text": FOX})

    (row,) = simdb_run("lookup", "db", "new.jsonl", "--show", "20").rows
    assert row["match_text"][:19] == FOX[:19]
    found = simdb_run("query", "db", FOX, "--contained", "0.9").rows
    assert [each["id"] for each in found] == ["d0"]
    assert found[0]["spans"]


def test_dedup_stores_texts_by_which_later_runs_decide(simdb_run, write_lines):
    write_lines("old.jsonl", *rows_of(FOX, OTHER))
    write_lines("new.jsonl", {"id": "near", "text": NEAR}, {"id": "same", "text": OTHER})
    simdb_run("dedup", "old.jsonl", "--db", "runs", "--store-texts")

    ran = simdb_run(
        "dedup", "new.jsonl", "--db", "runs", *LEAST, "--show", "12", "--report", "p.html"
    )

    rows = {row["id"]: row for row in ran.rows}
    assert abs(rows["near"]["similarity"] - simdb.similarity(FOX, NEAR)) < 1e-4
    assert rows["near"]["match_text"][:11] == FOX[:11]
    with open("p.html", encoding="utf-8") as page:
        assert "sunny" in page.read()
    with simdb.open("runs", "r") as database:
        assert database.texts_many(["d0", "d1"]) == [FOX, OTHER]
        assert not database.options.features


def test_a_database_without_texts_cannot_get_any(simdb_run, write_lines):
    write_lines("old.jsonl", *rows_of(FOX))
    simdb_run("dedup", "old.jsonl", "--db", "runs")

    ran = simdb_run("dedup", "old.jsonl", "--db", "runs", "--store-texts")
    assert ran.code == 2
    assert "was created without --store-texts" in ran.notes
    assert "--store-texts says what the database of --db stores" in simdb_run(
        "dedup", "old.jsonl", "--store-texts"
    ).notes  # fmt: skip


def test_the_page_of_a_database_shows_stored_texts(simdb_run, write_lines):
    created(simdb_run, write_lines, "--texts")

    simdb_run("report", "db", "-o", "page.html", *LEAST)

    with open("page.html", encoding="utf-8") as page:
        shown = page.read()
    assert "sunny" in shown
    assert "rainy" in shown
