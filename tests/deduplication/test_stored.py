"""Keys in notes: runs see what others have stored, and not what they have stored themselves."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simdb
from simdb.jobs.deduplication import sieve
from simdb.jobs.deduplication.sieve import UnitKeys


class Notes:
    """Notes in a dict."""

    def __init__(self):
        self.notes = {}

    def note(self, name):
        return self.notes.get(name)

    def set_note(self, name, content):
        self.notes[name] = content


def settle(notes, keys, run):
    return UnitKeys(notes, "line", run).settle(np.array(sorted(keys), np.uint64))


RUNS = st.lists(
    st.tuples(st.sampled_from(["", "a", "b"]), st.sets(st.integers(0, 12) | st.just(2**64 - 1))),
    max_size=8,
)


@pytest.mark.parametrize("size", [1, 3, 1000])
@given(RUNS)
def test_keys_of_other_runs_are_old(size, runs):
    notes, owners = Notes(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "PIECE_KEYS", size)
        for run, keys in runs:
            expected = [key in owners and (owners[key] != run or not run) for key in sorted(keys)]

            assert settle(notes, keys, run).tolist() == expected

            for key in keys:
                owners.setdefault(key, run)


def test_units_do_not_share_keys_and_a_database_keeps_them(tmp_path):
    with simdb.open(tmp_path / "db") as database, database.write() as transaction:
        UnitKeys(transaction, "line", "first").settle(np.array([7, 9], np.uint64))

    with simdb.open(tmp_path / "db") as database, database.write() as transaction:
        lines = UnitKeys(transaction, "line", "second").settle(np.array([8, 9], np.uint64))
        sentences = UnitKeys(transaction, "sentence", "second").settle(np.array([8, 9], np.uint64))

    assert lines.tolist() == [False, True]
    assert sentences.tolist() == [False, False]


def test_a_call_that_was_interrupted_while_it_made_the_database_can_be_repeated(
    tmp_path, monkeypatch
):
    """It was refused for good: the path is an empty LMDB directory, no simdb database."""
    texts = ["one two three four", "one two three four", "five six seven eight"]

    def interrupt(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("simdb.storage.contents.create", interrupt)
        with pytest.raises(KeyboardInterrupt):
            simdb.deduplicate(texts, db=tmp_path / "db")

    assert simdb.deduplicate(texts, db=tmp_path / "db").data == [texts[0], texts[2]]
    with simdb.open(tmp_path / "db", "r") as database:
        assert database.options.keep_times == "seen"
