"""Misread texts have as many errors as asked, and what finds the copies is judged by all pairs."""

import json
from random import Random

WORDS = ["harbour", "master", "counts", "ships", "tide", "bread", "oven", "salt", "river", "bridge"]


def story(seed):
    chance = Random(seed)
    return " ".join(f"{chance.choice(WORDS)}{chance.randrange(90)}" for _ in range(120))


def test_a_share_of_the_characters_is_misread(ocr):
    text = "a" * 20_000

    assert ocr.misread(text, 0, Random(1)) == text
    wrong = len(text) - ocr.misread(text, 0.05, Random(1)).count("a")
    # Two of four kinds of errors take the letter: 500 of 20,000; 5 standard deviations are 110.
    assert 390 <= wrong <= 610


def test_words_are_split_and_merged(ocr):
    text = " ".join(["word"] * 5_000)

    read = ocr.misread(text, 0.1, Random(2))

    assert "wordword" in read
    assert read.split().count("wo") > 10


def test_the_run_says_which_features_find_the_copies(ocr, tmp_path, monkeypatch):
    rows = [{"id": str(seed), "text": story(seed)} for seed in range(12)]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr(ocr, "SHARES", (0.02,))
    monkeypatch.setattr(ocr, "SETTINGS", {"characters 5": {"unit": "characters", "shingle": 5}})
    argv = ["ocr.py", str(corpus), "--texts", "8", "--core", "-1", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", argv)

    ocr.main()

    written = json.loads((tmp_path / "out" / "ocr.json").read_text(encoding="utf-8"))
    rows = {row["what"]: row["figure"] for row in written["rows"]}
    assert rows["2%, characters 5, exact"] == 1
    assert set(rows) == {
        *(f"2%, characters 5, {name}" for name in ("exact", "MinHash", "vectors")), "2%, tune",
    }  # fmt: skip
