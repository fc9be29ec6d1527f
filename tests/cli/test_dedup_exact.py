"""Command dedup: texts decide what matches, within the input and against earlier runs."""

import random
from itertools import combinations

import pytest

import simdb
from simdb.database.write import claim
from simdb.files.origins import Origins

LEAST = 0.8


def shingles_of(text):
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def jaccard(one, two):
    first, second = shingles_of(one), shingles_of(two)
    return len(first & second) / len(first | second)


def families(count, seed):
    """Return texts in families whose members differ in a few words, near the threshold."""
    chance = random.Random(seed)
    texts = {}
    for family in range(count):
        words = [f"w{chance.randrange(900)}" for _ in range(chance.randrange(30, 90))]
        for member in range(3):
            edited = list(words)
            for _ in range(chance.randrange(1, 5) if member else 0):
                edited[chance.randrange(len(edited))] = f"w{chance.randrange(900)}"
            texts[f"{family}-{member}"] = " ".join(edited)
    return texts


TEXTS = families(60, 3)


def records(texts):
    return [{"id": id, "text": text} for id, text in texts.items()]


def true_groups(texts):
    of_each = {id: {id} for id in texts}
    for one, two in combinations(texts, 2):
        if jaccard(texts[one], texts[two]) >= LEAST:
            joined = of_each[one] | of_each[two]
            of_each |= dict.fromkeys(joined, joined)
    return {frozenset(each) for each in of_each.values() if len(each) > 1}


def groups_of(rows):
    return {
        frozenset([row["representative"], *(each["id"] for each in row["duplicates"])])
        for row in rows
    }


def kept_first(texts, stored=()):
    """Return the ids that are kept if each document is compared with those kept before it."""
    kept = []
    for id, text in texts.items():
        if not any(jaccard(text, texts[other]) >= LEAST for other in [*stored, *kept]):
            kept.append(id)
    return kept


def test_groups_are_the_components_of_the_true_pairs(simdb_run, write_lines):
    write_lines("a.jsonl", *records(TEXTS))

    ran = simdb_run("dedup", "a.jsonl", "--recall", "1")
    estimated = simdb_run("dedup", "a.jsonl", "--verify", "estimate", "--recall", "1")
    by_distance = simdb_run("dedup", "a.jsonl", "--distance", "3")

    assert groups_of(ran.rows) == true_groups(TEXTS) != groups_of(estimated.rows)
    for row in ran.rows:
        for each in row["duplicates"]:
            exact = jaccard(TEXTS[row["representative"]], TEXTS[each["id"]])
            assert each["similarity"] == pytest.approx(exact, abs=1e-6)
    assert " against the texts (a match: Jaccard similarity 0.8 or more)\n" in ran.notes
    assert "against the texts" not in estimated.notes + by_distance.notes


def test_new_documents_are_decided_by_the_texts_of_the_run(simdb_run, write_lines, monkeypatch):
    monkeypatch.setattr(claim, "GROUP_FIRST", 7)
    monkeypatch.setattr(claim, "GROUP_DOCUMENTS", 7)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 20)
    write_lines("a.jsonl", *records(TEXTS))

    ran = simdb_run("dedup", "a.jsonl", "--db", "d", "--recall", "1")

    with simdb.open("d", "r") as database:
        assert list(database) == kept_first(TEXTS)
    for row in ran.rows:
        exact = jaccard(TEXTS[row["id"]], TEXTS[row["match"]])
        assert row["similarity"] == pytest.approx(exact, abs=1e-6)


def test_earlier_runs_are_compared_by_estimate_unless_their_texts_are_named_or_features_stored(
    simdb_run, write_lines
):
    first = {id: text for id, text in TEXTS.items() if id.endswith("-0")}
    second = {id: text for id, text in TEXTS.items() if not id.endswith("-0")}
    write_lines("first.jsonl", *records(first))
    write_lines("second.jsonl", *records(second))
    simdb_run("dedup", "first.jsonl", "--db", "d")
    simdb_run("dedup", "first.jsonl", "--db", "e")
    simdb_run("dedup", "first.jsonl", "--db", "f", "--features")

    unknown = simdb_run("dedup", "second.jsonl", "--db", "d", "--recall", "1")
    known = simdb_run(
        "dedup", "second.jsonl", "--db", "e", "--texts", "first.jsonl", "--recall", "1"
    )

    assert "--texts with their files" in unknown.notes
    stored = simdb_run("dedup", "second.jsonl", "--db", "f", "--recall", "1")
    assert "estimated" not in known.notes + stored.notes
    expected = [*kept_first(first), *(id for id in kept_first(first | second) if id in second)]
    for path in "ef":
        with simdb.open(path, "r") as database:
            assert list(database) == expected
    with simdb.open("d", "r") as database:
        assert list(database) != expected


def test_a_database_without_features_gets_none(simdb_run, write_lines):
    write_lines("a.jsonl", *records(TEXTS))
    simdb_run("dedup", "a.jsonl", "--db", "d")

    ran = simdb_run("dedup", "a.jsonl", "--db", "d", "--features")

    assert ran.code == 2
    assert "was created without --features" in ran.notes


def test_more_duplicates_than_allowed_write_nothing(simdb_run, write_lines, tmp_path):
    write_lines("a.jsonl", *records(TEXTS))
    (tmp_path / "kept.jsonl").write_text("as before\n", encoding="ascii")

    plain = simdb_run("dedup", "a.jsonl", "--max-share", "0.1", "-o", "kept.jsonl")
    against = simdb_run("dedup", "a.jsonl", "--max-share", "0.1", "--db", "d")

    for ran in (plain, against):
        assert ran.code == 2
        assert "of 180 documents are duplicates" in ran.notes
        assert "more than --max-share 0.1; nothing was written" in ran.notes
    assert (tmp_path / "kept.jsonl").read_text(encoding="ascii") == "as before\n"
    with simdb.open("d", "r") as database:
        assert len(database) == 0
    assert simdb_run("dedup", "a.jsonl", "--max-share", "0.9").code == 0


@pytest.mark.parametrize(("open_files", "db"), [(0, []), (64, ["--db", "d"])])
def test_a_source_that_changes_during_the_run_is_named(
    simdb_run, write_lines, tmp_path, monkeypatch, open_files, db
):
    write_lines("a.jsonl", *records(TEXTS))
    (tmp_path / "kept.jsonl").write_text("before")
    monkeypatch.setattr("simdb.files.origins.OPEN_FILES", open_files)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 20)
    read = Origins.texts

    def changed(origins, starts, sizes):
        path = tmp_path / "a.jsonl"
        path.write_text(path.read_text().replace("w", "v"))
        return read(origins, starts, sizes)

    monkeypatch.setattr(Origins, "texts", changed)

    ran = simdb_run("dedup", "a.jsonl", *db, "-o", "kept.jsonl")

    assert ran.code == 2
    assert "a.jsonl was changed while it was read; run the command again when" in ran.notes
    assert (tmp_path / "kept.jsonl").read_text() == "before"
    if db:
        with simdb.open("d", "r") as database:
            assert len(database) == 0


def test_a_source_that_grows_during_the_run_is_no_error(
    simdb_run, write_lines, tmp_path, monkeypatch
):
    write_lines("a.jsonl", *records(TEXTS))
    expected = simdb_run("dedup", "a.jsonl", "-o", "expected.jsonl").rows
    read = Origins.texts

    def longer(origins, starts, sizes):
        with (tmp_path / "a.jsonl").open("a") as file:
            file.write('{"id": "late", "text": "late words"}\n')
        return read(origins, starts, sizes)

    monkeypatch.setattr(Origins, "texts", longer)

    ran = simdb_run("dedup", "a.jsonl", "-o", "kept.jsonl")

    assert ran.rows == expected
    assert (tmp_path / "kept.jsonl").read_bytes() == (tmp_path / "expected.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--verify", "perhaps"], "is not one of 'estimate', 'exact', 'numbers'"),
        (["--texts", "a.jsonl"], "--texts works only with --db"),
        (["--features"], "--features says what the database of --db stores; give both"),
        (["--max-share", "2"], "--max-share must be above 0 and at most 1, got 2.0; 2 % is 0.02"),
        (["--verify", "exact", "--distance", "3"], "decides by similarity; give --similarity"),
        (["--policy", "ring"], "is not one of 'connected', 'star'"),
        (["--policy", "connected", "--db", "d"], "--policy connected works only without --db"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(simdb_run, write_lines, arguments, message):
    write_lines("a.jsonl", *records(TEXTS))

    ran = simdb_run("dedup", "a.jsonl", *arguments)

    assert ran.code == 2
    assert message in ran.notes
