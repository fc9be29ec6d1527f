"""Runs over a database: the command line and the library repeat each other's."""

import json
import os
import random
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app
from simdb.jobs.deduplication.job import run_job

WORDS = [f"word{at}" for at in range(60)]
ROWS = [
    {"id": "a", "text": " ".join(WORDS)},
    {"id": "b", "text": " ".join([*WORDS, "end"])},
    {"id": "c", "text": " ".join(WORDS[::-1])},
    {"id": "d", "text": " ".join([*WORDS, "tail"])},
    {"id": "e", "text": " ".join(WORDS[::-1])},
]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Returns a function that runs dedup over some rows, and gives what was kept and removed."""
    monkeypatch.chdir(tmp_path)

    def run(rows, *words):
        lines = "".join(json.dumps(each) + "\n" for each in rows)
        (tmp_path / "rows.jsonl").write_text(lines)
        call = ["dedup", "rows.jsonl", "--db", "db", "--run", "x", "-o", "kept.jsonl", *words]
        ran = CliRunner().invoke(app, [*call, "--groups", "groups.jsonl"])
        assert ran.exit_code == 0, ran.stderr
        read = [(tmp_path / name).read_text() for name in ("kept.jsonl", "groups.jsonl")]
        kept, removed = ([json.loads(line) for line in text.splitlines()] for text in read)
        return [each["id"] for each in kept], {each["id"]: each.get("match") for each in removed}

    return run


def near_copies(count, seed):
    """Return rows of a few families, in which up to six words of 60 are changed, and empty ones."""
    rng = random.Random(seed)
    families = [[f"f{kind}w{at}" for at in range(60)] for kind in range(count // 8)]
    rows = []
    for number in range(count):
        words = list(rng.choice(families))
        for _ in range(rng.randrange(7)):
            words[rng.randrange(60)] = f"new{rng.randrange(40)}"
        rows.append({"id": f"r{number}", "text": " ".join(words) if rng.random() > 0.05 else ""})
    return rows


class Doors:
    """The command line and the library, each with a database of its own."""

    def __init__(self, folder, sketch, words, keep):
        """Work in a folder; `words`: the options that mean the sketch."""
        self.folder, self.sketch, self.words, self.keep = folder, sketch, words, keep

    def run(self, name, rows):
        """Give the same rows to both; returns what is kept and what is removed, by both."""
        return [self.command(name, rows), self.library(name, rows)]

    def command(self, name, rows):
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        call = ["dedup", path.name, "--db", "command.simdb", "--run", name, "-o", "kept.jsonl"]
        more = ["--groups", "groups.jsonl", "--recall", "1.0", "--keep", self.keep]
        # The library knows the texts of stored documents that are among the rows.
        ran = CliRunner().invoke(app, [*call, *more, "--texts", path.name, *self.words])
        assert ran.exit_code == 0, ran.stderr
        kept, removed = (
            [json.loads(line) for line in (self.folder / name).read_text().splitlines()]
            for name in ("kept.jsonl", "groups.jsonl")
        )
        return [each["id"] for each in kept], {
            each["id"]: (each["match"], each["similarity"]) for each in removed
        }

    def library(self, name, rows):
        found = simdb.deduplicate(
            rows, id="id", db="library.simdb", run=name, recall=1.0, keep=self.keep,
            sketch=self.sketch,
        )  # fmt: skip
        others = zip(found.representatives, found.similarities.tolist(), strict=True)
        removed = {
            id: (match, round(similarity, 6))
            for id, (match, similarity) in zip(found.removed_ids, others, strict=True)
            if id != match  # which the command line counts as seen before
        }
        return [each["id"] for each in found.data], removed

    def change(self, change):
        """Make the same change in both databases."""
        for name in ("command", "library"):
            with simdb.open(f"{name}.simdb") as database:
                change(database)

    def stored(self):
        """Return the ids and bits in both databases."""
        for name in ("command", "library"):
            with simdb.open(f"{name}.simdb", "r") as database:
                assert list(database.check(deep=True)) == []
                ids = sorted(database)
                yield ids, database.bits_many(ids)[1].tolist()


SKETCHES = {
    "sets": (simdb.Simhash(), []),
    "minhash": (simdb.Minhash(), ["--minhash"]),
}


@pytest.mark.parametrize(("sketch", "keep"), [("sets", "longest"), ("minhash", "first")])
def test_both_give_one_answer_run_after_run(tmp_path, monkeypatch, sketch, keep):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simdb.jobs.deduplication.claims.CLAIMED_ROWS", 32)
    monkeypatch.setattr("simdb.jobs.deduplication.claims.NOTED_DOCUMENTS", 3)
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 16)
    doors, rows = Doors(tmp_path, *SKETCHES[sketch], keep), near_copies(120, seed=3)

    first = doors.run("a", rows[:60])
    second = doors.run("b", rows[30:100])
    matched = [match for match, _ in first[0][1].values()]
    other, *gone = dict.fromkeys(matched)
    doors.change(lambda database: database.delete_many(gone[:2]))
    doors.change(lambda database: database.insert(other, rows[99]["text"], on_conflict="replace"))
    rest = [row for row in rows if row["id"] != other]
    again = doors.run("a", rest[:59])
    grown = doors.run("b", rest[29:])

    for one, two in (first, second, again, grown):
        assert one == two
        assert len(one[1]) > 5
    assert again[0] != first[0]
    stored = list(doors.stored())
    assert stored[0] == stored[1]


def test_the_largest_share_counts_no_document_that_was_seen_before(command):
    library(ROWS[:3], run="before")
    rows = [*ROWS[:3], *near_copies(8, seed=1)[:1]]

    kept, _ = library(rows, run="x", max_share=0.3)

    assert kept == ["r0"]
    with pytest.raises(simdb.OptionError, match="max_share"):
        library(ROWS, run="y", max_share=0.3)
    assert command(rows, "--max-share", "0.3") == (kept, {"b": "a"})


def library(rows, run="x", **given):
    found = simdb.deduplicate(rows, id="id", db="db", run=run, **given)
    removed = dict(zip(found.removed_ids, found.representatives, strict=True))
    return [each["id"] for each in found.data], removed


def other_run():
    """Store what the rows that were left out would match, if they were decided again."""
    changed = [{"id": f"{each['id']}2", "text": each["text"] + " again"} for each in ROWS]
    simdb.deduplicate(changed, id="id", db="db", run="other", similarity=0.99)


def test_a_run_of_one_is_repeated_by_the_other(command):
    entry_points = [command, library]
    kept = entry_points[0](ROWS)
    other_run()

    again = [entry_points[1](ROWS), entry_points[0](ROWS)]

    assert kept == (["a", "c"], {"b": "a", "d": "a", "e": "c"})
    assert again == [kept, kept]


@pytest.mark.parametrize("words", [[], ["--unit", "line"]])
def test_both_give_files_to_one_conductor(tmp_path, monkeypatch, words):
    jobs = []

    def noted(job):
        jobs.append((job.sources, job.unit))
        return run_job(job)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.setattr("simdb.jobs.deduplication.deduplicate.run_job", noted)
    monkeypatch.setattr("simdb.jobs.run_job", noted)

    ran = CliRunner().invoke(app, ["dedup", "a.jsonl", "-o", "kept.jsonl", *words])
    found = simdb.deduplicate("a.jsonl", unit=words[-1] if words else "document")
    found.write("own.jsonl")

    assert ran.exit_code == 0
    assert len(jobs) == 2
    assert jobs[0] == jobs[1]
    assert (tmp_path / "own.jsonl").read_bytes() == (tmp_path / "kept.jsonl").read_bytes()


# Of "b", four of 64 words are not those of "a"; no word is a number.
PAIRS = ["".join(letters) for letters in product("abcdefgh", repeat=2)]
ALIKE = [
    {"id": id, "text": " ".join(words)}
    for id, words in {"a": PAIRS, "b": [*PAIRS[:60], *"wxyz"], "c": PAIRS[::-1]}.items()
]
# Two rules that differ in one argument, each by which "b" matches "a".
RULES = {
    "similarity": [{"similarity": 0.7}, {"similarity": 0.71}],
    "usual similarity": [{}, {"similarity": 0.75}],
    "recall": [{"recall": 0.9}, {"recall": 1.0}],
    "texts or sketches": [{"verify": "exact"}, {"verify": "estimate"}],
    "numbers": [{"verify": "exact"}, {"verify": "numbers"}],
    "distance": [{"verify": "estimate", "distance": most} for most in (24, 25)],
    "distance or similarity": [
        {"verify": "estimate"} | bound for bound in ({"distance": 24}, {"similarity": 0.71})
    ],
}


@pytest.fixture(params=["library", "command"])
def run(request, command):
    """Return a function that runs dedup by a rule, in Python or on the command line."""

    def by_words(rows, **rule):
        return command(rows, *(f"--{name}={value}" for name, value in rule.items()))

    return {"library": library, "command": by_words}[request.param]


def test_a_run_repeated_with_another_rule_decides_again(run):
    loose = run(ALIKE, similarity=0.7)
    strict = run(ALIKE, similarity=0.95)

    assert loose == (["a", "c"], {"b": "a"})
    assert strict == (["a", "b", "c"], {})
    # What a run has stored stays, whatever is asked next.
    assert run(ALIKE, similarity=0.7) == run(ALIKE, similarity=0.7, keep="last") == strict


def check_two_rules(decided_by):
    """Check that a copy of "b" is found again by the first rule, and not looked for by the second.

    `decided_by`: a run by each rule.  The note of the run does not have the copy.
    """
    first, second = decided_by
    decided = [first(), second()]
    with simdb.open("db") as database:
        database.insert("copy", ALIKE[1]["text"])

    again, otherwise = second(), first()

    assert [*decided, again] == 3 * [(["a", "c"], {"b": "a"})]
    assert otherwise == (["a", "c"], {"b": "copy"})


@pytest.mark.parametrize("rules", RULES)
def test_every_part_of_a_rule_makes_it_another_rule(run, rules):
    check_two_rules([lambda rule=rule: run(ALIKE, **rule) for rule in RULES[rules]])


def test_a_method_of_searching_is_a_part_of_a_rule(command):
    methods = "exhaustive", "polytope"

    check_two_rules([lambda each=each: command(ALIKE, "--search", each) for each in methods])


PARTS = [("--unit", unit, "--min-words", least) for unit in ("line", "paragraph") for least in "36"]


@pytest.mark.parametrize("first", PARTS)
@pytest.mark.parametrize("second", PARTS)
def test_a_run_with_other_parts_drops_nothing_for_what_it_kept_itself(command, first, second):
    text = "one two three\nfour five six seven eight nine\n\nfour five six seven eight nine"
    rows = [{"id": id, "text": text} for id in "ab"]

    command(rows, *first)
    command(rows, *second)
    again = Path("kept.jsonl").read_text()
    os.rename("db", "other")
    command(rows, *second)

    assert Path("kept.jsonl").read_text() == again
