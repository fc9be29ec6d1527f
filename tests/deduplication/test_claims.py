"""Rows against all that a database holds: what is new is kept and stored, again and again."""

import random
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from families import jaccard

import simdb
from simdb.core import memory
from simdb.core.decoding import text_column
from simdb.database.state import staged
from simdb.jobs.deduplication import claims
from simdb.jobs.deduplication.claims import Arrivals
from simdb.jobs.deduplication.minima import Minima
from simdb.jobs.deduplication.question import DedupQuestion


def parts(count, seed):
    """Return parts of rows in which copies with some changed words come again and again."""
    chance = random.Random(seed)
    known = [[f"w{chance.randrange(900)}" for _ in range(60)] for _ in range(25)]
    rows = []
    for row in range(count * 30):
        words = list(chance.choice(known))
        for _ in range(chance.randrange(5)):
            words[chance.randrange(60)] = f"w{chance.randrange(900)}"
        rows.append({"id": f"row {row}", "text": " ".join(words)})
    return [rows[start : start + 30] for start in range(0, len(rows), 30)]


def test_increments_keep_what_a_loop_over_everything_kept_keeps(tmp_path):
    texts = {}
    with simdb.open(tmp_path / "seen.simdb") as db:
        for part in parts(3, 1):
            found = simdb.deduplicate(part, id="id", db=db, recall=1.0, verify="estimate")
            for row, kept in zip(part, found.kept.tolist(), strict=True):
                best = max((jaccard(row["text"], text) for text in texts.values()), default=0)
                # Estimates err near the threshold.
                if not 0.7 < best < 0.9:
                    assert kept == (best < 0.8)
                if kept:
                    texts[row["id"]] = row["text"]
        assert list(db) == list(texts)


def test_several_portions_give_what_one_gives(tmp_path, monkeypatch):
    (part,) = parts(1, 3)
    whole = simdb.deduplicate(part, id="id", db=tmp_path / "one.simdb")
    monkeypatch.setattr("simdb.jobs.deduplication.claims.CLAIMED_ROWS", 4)
    seen = []

    found = simdb.deduplicate(part, id="id", db=tmp_path / "two.simdb", progress=seen.append)

    assert seen == [*range(4, 30, 4), 30]
    assert found.data == whole.data
    assert found.representatives.tolist() == whole.representatives.tolist()
    assert found.verification.unknown == 0
    assert found.verification.judged > 0


def test_texts_decide_again_as_they_did_the_first_time(tmp_path):
    """Estimates alone would keep some of the rows that were removed by their texts."""
    rows = [row for part in parts(20, 5) for row in part]
    data = {"id": "id", "db": tmp_path / "seen.simdb", "recall": 1.0}
    first = simdb.deduplicate(rows, sketch=simdb.Simhash(dimensions=256), **data)

    again = simdb.deduplicate(rows, run="again", **data)
    reverse = simdb.deduplicate(rows[::-1], run="reverse", **data)

    assert len(first) > 25
    assert again.data == reverse.data == []
    assert again.verification.unknown == reverse.verification.unknown == 0


def test_rows_with_one_id_and_one_text_are_one_document(tmp_path):
    texts = [" ".join(f"w{row}{at}" for at in range(30)) for row in range(3)]
    data = [texts[0], texts[1], f"{texts[0]} end", texts[0], f"{texts[0]} end", texts[1]]
    seen = []

    found = simdb.deduplicate(
        data, id=["a", "b", "c", "a", "c", "b"], db=tmp_path / "seen.simdb", progress=seen.append
    )

    assert found.kept.tolist() == [True, True, False, False, False, False]
    assert found.removed_ids.tolist() == ["c", "a", "c", "b"]
    assert found.representatives.tolist() == ["a", "a", "a", "b"]
    assert found.similarities.tolist() == pytest.approx([28 / 29, 1, 28 / 29, 1])
    assert [cluster.ids for cluster in found.groups] == [["a", "c"]]
    assert seen == [3, 6]
    last = simdb.deduplicate(data, id=[*"abcacb"], db=simdb.open(None), keep="last")
    assert last.kept.tolist() == [False, False, False, False, True, True]


def test_ids_that_cannot_be_stored_are_refused_and_nothing_is_stored(tmp_path):
    texts = [" ".join(f"w{row}{at}" for at in range(30)) for row in range(3)]
    with simdb.open(tmp_path / "seen.simdb") as db:
        db.insert("a", texts[0])
        with pytest.raises(simdb.InputError, match="the rows 0 and 2 have the id 'x' but diff"):
            simdb.deduplicate(texts, id=["x", "y", "x"], db=db)
        with pytest.raises(simdb.InputError, match="id 2 is list, not str, bytes"):
            simdb.deduplicate(texts, id=["x", "y", ["z"]], db=db)
        with pytest.raises(simdb.ExistsError, match="row 2 has the id 'a'"):
            simdb.deduplicate(texts, id=["x", "y", "a"], db=db)
        with pytest.raises(simdb.InputError):
            simdb.deduplicate(texts, id=["x", "y", None], db=db)
        with pytest.raises(simdb.InputError, match="row 1 of data"):
            simdb.deduplicate(["a b c", "a \ud800 b"], db=db)

        assert list(db) == ["a"]


def test_other_sketches_than_those_of_the_database_are_refused(tmp_path):
    path = tmp_path / "seen.simdb"
    with simdb.open(path, options=simdb.Options(blocks=5)) as db:
        simdb.deduplicate(["a text"], db=db)

    with pytest.raises(simdb.OptionError, match="leave out sketch="):
        simdb.deduplicate(["a text"], db=path, sketch=simdb.Minhash())
    assert len(simdb.deduplicate(["a text"], db=path, sketch=simdb.Simhash(), run="b")) == 0
    with simdb.open(path, "r") as db, pytest.raises(simdb.ReadOnlyError):
        simdb.deduplicate(["other"], db=db)


def changed_rows(seed):
    """Return rows with ids, some of them removed, and the same rows in another order."""
    (rows,) = parts(1, seed)
    return rows, rows[::-1]


@pytest.mark.parametrize("id", ["id", None])
def test_a_call_with_the_same_rows_keeps_and_removes_the_same(tmp_path, id):
    rows, reverse = changed_rows(6)
    data = {"id": id, "db": tmp_path / "seen.simdb"}
    first = simdb.deduplicate(rows, sketch=simdb.Minhash(), **data)
    simdb.deduplicate(parts(1, 7)[0] + rows[3:9], id=None, db=data["db"], run="between")

    again = simdb.deduplicate(rows, **data)
    turned = simdb.deduplicate(reverse, **data)

    assert 0 < len(first) < len(rows)
    assert again.kept.tolist() == first.kept.tolist()
    # Of equal texts without ids any can stay.
    assert sorted(row["text"] for row in turned.data) == sorted(row["text"] for row in first.data)
    assert again.removed_ids.tolist() == first.removed_ids.tolist()
    assert again.representatives.tolist() == first.representatives.tolist()
    assert again.similarities.tolist() == first.similarities.tolist()
    assert [group.ids for group in again.groups] == [group.ids for group in first.groups]


def test_a_run_with_a_name_keeps_what_it_kept_when_its_rows_grow(tmp_path):
    rows, _ = changed_rows(8)
    data = {"id": "id", "db": tmp_path / "seen.simdb"}
    first = simdb.deduplicate(rows[:20], run="a", **data)

    grown = simdb.deduplicate(rows, run="a", **data)
    other = simdb.deduplicate(rows, run="b", **data)

    assert grown.kept[:20].tolist() == first.kept.tolist()
    assert grown.kept.tolist() == simdb.deduplicate(rows, id="id").kept.tolist()
    assert other.data == []


def test_a_row_is_decided_again_when_its_match_is_gone(tmp_path):
    text = " ".join(f"w{at}" for at in range(60))
    rows = [{"id": "a", "text": text}, {"id": "b", "text": f"{text} end"}]
    with simdb.open(tmp_path / "seen.simdb") as db:
        simdb.deduplicate(rows, id="id", db=db)
        db.delete("a")

        again = simdb.deduplicate(rows[1:], id="id", db=db, run="a")
        db.delete("b")
        named = simdb.deduplicate(rows, id="id", db=db)

    assert again.kept.tolist() == [True]
    assert named.kept.tolist() == [True, False]


def test_a_row_is_decided_again_when_its_match_has_another_text(tmp_path):
    text = " ".join(f"w{at}" for at in range(60))
    rows = [{"id": "a", "text": text}, {"id": "b", "text": f"{text} end"}]
    with simdb.open(tmp_path / "seen.simdb") as db:
        simdb.deduplicate(rows, id="id", db=db, run="a")
        db.insert("a", "nothing of the kind is in this one", on_conflict="replace")

        again = simdb.deduplicate(rows[1:], id="id", db=db, run="a")
        third = simdb.deduplicate(rows[1:], id="id", db=db, run="a")

        assert again.kept.tolist() == third.kept.tolist() == [True]
        assert sorted(db) == ["a", "b"]


def test_notes_of_older_versions_have_no_sketches_of_matches(tmp_path):
    rows, _ = changed_rows(6)
    with simdb.open(tmp_path / "seen.simdb") as db:
        first = simdb.deduplicate(rows[:20], id="id", db=db, run="a")
        with db.write() as transaction:
            note = transaction.note("dedup/a")
            del note["bits"]
            transaction.set_note("dedup/a", note)

        for _ in range(2):
            again = simdb.deduplicate(rows, id="id", db=db, run="a")

            assert again.kept[:20].tolist() == first.kept.tolist()
            assert len(db.note("dedup/a")["bits"]) == 8 * len(db.note("dedup/a")["ids"])


def test_a_run_that_failed_is_not_remembered(tmp_path):
    rows, _ = changed_rows(9)
    data = {"id": "id", "db": tmp_path / "seen.simdb", "run": "a"}
    with pytest.raises(simdb.OptionError, match="max_share"):
        simdb.deduplicate(rows, max_share=0.0, **data)

    found = simdb.deduplicate(rows, **data)

    assert found.kept.tolist() == simdb.deduplicate(rows, id="id").kept.tolist()


def test_texts_without_words_stay_in_every_call_unless_their_ids_say_they_were_seen(tmp_path):
    rows = [{"id": "a", "text": ""}, {"id": "b", "text": "!?"}, {"id": "c", "text": "!?"}]
    for run in ("one", "two"):
        found = simdb.deduplicate(rows, db=tmp_path / "texts.simdb", run=run)
        assert found.kept.tolist() == [True, True, True]

    first = simdb.deduplicate(rows, id="id", db=tmp_path / "ids.simdb", run="one")
    other = simdb.deduplicate(rows, id="id", db=tmp_path / "ids.simdb", run="two")

    assert first.kept.tolist() == [True, True, True]
    assert other.kept.tolist() == [False, False, False]


def test_rows_that_come_again_count_as_seen(monkeypatch):
    """What came every day under its id was dropped as not seen for long."""
    now = [1_000_000.0]
    monkeypatch.setattr(staged, "time", lambda: now[0])
    rows, _ = changed_rows(6)
    with simdb.open(None, options=simdb.Options(keep_times="seen")) as db:
        simdb.deduplicate(rows, id="id", db=db, run="one")
        ids = list(db)
        db.insert("other", "never delivered again")
        for run in ("one", "two", "two"):
            now[0] += 100
            simdb.deduplicate(rows, id="id", db=db, run=run)

            assert set(db.times_many(ids).astype(int)) == {now[0]}

        assert db.expire(datetime.fromtimestamp(now[0], timezone.utc)) == 1


def test_a_run_needs_a_name_that_can_be_stored_and_a_database_and_groups_need_none(database):
    for run in ("", "x" * 495, 7):
        with pytest.raises(simdb.OptionError, match="run= needs a name of 1 to 494 bytes, got"):
            simdb.deduplicate(["a text"], db=database, run=run)
    with pytest.raises(simdb.OptionError, match="run= names a run for db=; give both, or neither"):
        simdb.deduplicate(["a text"], run="a")
    with pytest.raises(simdb.OptionError, match="policy='connected' works only without db="):
        simdb.deduplicate(["a text"], db=database, policy="connected")


SKETCHES = {
    "simhash": simdb.Simhash(),
    "minhash": simdb.Minhash(),
    "tf": simdb.Simhash(weighting="tf"),
}


def texts_at(places):
    return [GIVEN[at] for at in places]


def text_of(kind, changed=0):
    return " ".join(f"t{kind}w{at}" if at >= changed else f"new{at}" for at in range(60))


STORED = [text_of(0), text_of(1)]
# Like a stored one; new; like the second; nothing; stored; nothing; like the second; new.
GIVEN = [text_of(0, 1), text_of(2), text_of(2, 2), "", text_of(1), " ", text_of(2, 1), text_of(3)]


def question_of(verify="exact"):
    asked = dict.fromkeys(["similarity", "distance", "recall", "search"])
    return DedupQuestion(
        **asked, verify=verify, policy="star", max_share=None, errors="strict", threads=2,
        progress=None,
    )  # fmt: skip


def decided(database, question, *, size=3, column=list):
    """Returns what is refused and stored of the given texts, and the latter in the database."""
    parts = [column(GIVEN[start : start + size]) for start in range(0, len(GIVEN), size)]
    names = lambda places: [f"g{at}" for at in places.tolist()]  # noqa: E731
    with (
        database.write() as transaction,
        Arrivals(database, transaction, question) as given,
    ):
        counts = list(given.add_all(parts, lambda: len(GIVEN), lambda ids: [None] * len(ids)))
        refused = given.decide(None, texts_at, names)
        stored = [at for places, _ in given.store(names, texts_at) for at in places.tolist()]
    assert counts == [min(start + size, len(GIVEN)) for start in range(0, len(GIVEN), size)]
    return refused, stored


@pytest.fixture(params=SKETCHES)
def database(request):
    with simdb.open(None, options=simdb.Options(sketch=SKETCHES[request.param])) as held:
        held.insert_many(["s0", "s1"], STORED)
        yield held


def column_of(texts):
    return text_column(pa.array(texts))


@pytest.mark.parametrize("verify", ["exact", "estimate"])
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("column", [list, column_of])
def test_what_is_like_a_stored_one_or_one_that_stays_is_refused(
    database, monkeypatch, verify, size, column
):
    monkeypatch.setattr(claims, "STORED_DOCUMENTS", 2)
    monkeypatch.setattr(memory, "COLUMN_BYTES", 0 if size == 1 else 1 << 20)

    refused, stored = decided(database, question_of(verify), size=size, column=column)

    assert refused.places.tolist() == [0, 2, 4, 6]
    assert refused.found.matches.tolist() == ["s0", "g1", "s1", "g1"]
    assert refused.earlier == 2
    assert stored == [1, 3, 5, 7]
    assert list(database) == ["s0", "s1", "g1", "g3", "g5", "g7"]


def test_what_is_stored_has_the_sketches_of_its_text(database):
    decided(database, question_of())

    with simdb.open(None, options=database.options) as other:
        other.insert_many(["g1", "g3", "g7"], [GIVEN[1], GIVEN[3], GIVEN[7]])
        for id in other:
            assert database[id] == other[id]
    assert database.stats().empty_count == 2


def test_distances_are_those_of_the_database(database):
    refused, _ = decided(database, question_of())

    texts = {"s0": STORED[0], "s1": STORED[1], "g1": GIVEN[1]}
    for at, match, distance in zip(
        refused.places.tolist(),
        refused.found.matches,
        refused.found.distances.tolist(),
        strict=True,
    ):
        with simdb.open(None, options=database.options) as other:
            other.insert_many(["one", "other"], [GIVEN[at], texts[match]])
            assert distance == other.compare(["one"], ["other"]).distance[0]


@pytest.mark.parametrize("database", ["simhash"], indirect=True)
def test_columns_are_cut_and_hashed_once(database, monkeypatch):
    monkeypatch.setattr(Minima, "sign", None)

    refused, stored = decided(database, question_of(), column=column_of)

    assert refused.places.tolist() == [0, 2, 4, 6]
    assert stored == [1, 3, 5, 7]
