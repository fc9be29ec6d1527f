"""Command dedup: what it says of texts that decide, and of sources that change meanwhile."""

import pytest

import simdb
from simdb.files.origins import Origins

WORDS = [f"w{at}" for at in range(60)]
# The second and the last match the first.
TEXTS = {"a": WORDS, "b": [*WORDS[:53], *"xyz"], "c": WORDS[::-1], "d": [*WORDS[1:]]}


def records(texts=TEXTS):
    return [{"id": id, "text": " ".join(words)} for id, words in texts.items()]


def test_texts_decide_within_a_run_and_the_summary_says_so(simdb_run, write_lines):
    write_lines("a.jsonl", *records())

    ran = simdb_run("dedup", "a.jsonl", "--similarity", "0.8")
    estimated = simdb_run("dedup", "a.jsonl", "--similarity", "0.8", "--verify", "estimate")
    by_distance = simdb_run("dedup", "a.jsonl", "--distance", "3")

    (row,) = ran.rows
    # 51 of 61 and 57 of 58 shingles are shared.
    assert {each["id"]: each["similarity"] for each in row["duplicates"]} == {
        "b": pytest.approx(51 / 61, abs=1e-6), "d": pytest.approx(57 / 58, abs=1e-6)
    }  # fmt: skip
    assert " against the texts (a match: Jaccard similarity 0.8 or more)\n" in ran.notes
    assert "against the texts" not in estimated.notes + by_distance.notes


def test_earlier_runs_are_compared_by_estimate_unless_their_texts_are_named_or_features_stored(
    simdb_run, write_lines
):
    write_lines("first.jsonl", *records({"a": WORDS}))
    write_lines("second.jsonl", *records({"b": TEXTS["b"]}))
    ask = ["dedup", "second.jsonl", "--recall", "1", "--db"]
    for path in "de":
        simdb_run("dedup", "first.jsonl", "--db", path)
    simdb_run("dedup", "first.jsonl", "--db", "f", "--features")

    unknown, known, stored = (
        simdb_run(*ask, *words) for words in ("d", ["e", "--texts", "first.jsonl"], "f")
    )

    assert "--texts with their files" in unknown.notes
    assert "estimated" not in known.notes + stored.notes
    exact = pytest.approx(51 / 61, abs=1e-6)
    for ran in (known, stored):
        assert [(row["id"], row["match"], row["similarity"]) for row in ran.rows] == [
            ("b", "a", exact)
        ]
    assert [row["similarity"] for row in unknown.rows] != [exact]


def test_more_duplicates_than_allowed_write_nothing(simdb_run, write_lines, tmp_path):
    write_lines("a.jsonl", *records())
    (tmp_path / "kept.jsonl").write_text("as before\n", encoding="ascii")

    plain = simdb_run("dedup", "a.jsonl", "--max-share", "0.1", "-o", "kept.jsonl")
    against = simdb_run("dedup", "a.jsonl", "--max-share", "0.1", "--db", "d", "-o", "-")

    for ran in (plain, against):
        assert (ran.code, ran.output) == (2, "")
        assert "2 of 4 documents are duplicates" in ran.notes
        assert "more than --max-share 0.1; nothing was written" in ran.notes
    assert (tmp_path / "kept.jsonl").read_text(encoding="ascii") == "as before\n"
    with simdb.open("d", "r") as database:
        assert len(database) == 0
    assert simdb_run("dedup", "a.jsonl", "--max-share", "0.5").code == 0


@pytest.mark.parametrize("open_files", [0, 64])
def test_a_source_that_changes_during_the_run_is_named(
    simdb_run, write_lines, tmp_path, monkeypatch, open_files
):
    write_lines("a.jsonl", *records())
    (tmp_path / "kept.jsonl").write_text("before")
    monkeypatch.setattr("simdb.files.origins.OPEN_FILES", open_files)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 2)
    read = Origins.texts

    def changed(origins, starts, sizes):
        path = tmp_path / "a.jsonl"
        path.write_text(path.read_text().replace("w", "v"))
        return read(origins, starts, sizes)

    monkeypatch.setattr(Origins, "texts", changed)

    ran = simdb_run("dedup", "a.jsonl", "--db", "d", "-o", "kept.jsonl")

    assert ran.code == 2
    assert "a.jsonl was changed while it was read; run the command again when" in ran.notes
    assert (tmp_path / "kept.jsonl").read_text() == "before"
    with simdb.open("d", "r") as database:
        assert len(database) == 0
