"""Who has waited long for a lock goes before who comes, and nobody waits for the dead."""

import itertools
import multiprocessing
import time

import pytest

import simdb
from simdb.storage import files
from simdb.storage.files import NO_NOTE, Board, wait

# The lock is held for longer than any pause between two tries, and free for a moment.
HELD_SECONDS = 0.1
# One or two such transactions end before a caller asks for its turn.
OVERTAKEN_MOST = 10


@pytest.fixture(params=["threads", "processes"])
def board(request, tmp_path):
    """A board without a note."""
    if request.param == "threads":
        yield Board()
        return
    with (tmp_path / "lock").open("w+b") as file:
        yield Board(file)


def test_who_comes_leaves_its_turn_to_who_came_before(board):
    now = time.monotonic()
    board.write(now, now)

    assert not wait(lambda: True, 0, board, longest_seconds=0.001)
    assert board.read() == (now, now)


@pytest.mark.parametrize("seconds", [-1.0, 3600.0], ids=["lapsed", "of another start"])
def test_an_old_note_holds_up_nobody(board, seconds):
    seen = time.monotonic() + seconds
    board.write(1, seen)

    assert wait(lambda: True, 0, board, longest_seconds=0.001)


def test_a_note_that_is_not_renewed_lapses(board):
    now = time.monotonic()
    board.write(now - 0.001, now)

    assert wait(lambda: True, 30, board, longest_seconds=0.001)


def test_who_waits_leaves_a_note_and_takes_it_away(board, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.0)
    notes = []

    def is_taken():
        notes.append(board.read())
        return len(notes) == 4

    assert wait(is_taken, 30, board, longest_seconds=0.001)
    assert notes[0] == NO_NOTE
    assert NO_NOTE not in notes[1:]
    assert board.read() == NO_NOTE


def test_processes_that_write_without_pause_let_another_write(tmp_path):
    """Before, two such writers committed hundreds of times while another one waited."""
    path = str(tmp_path / "d")
    simdb.open(path, "c").close()
    make = multiprocessing.get_context("fork").Process
    writers = [make(target=_write_for_ever, args=(path, number)) for number in range(2)]
    for writer in writers:
        writer.start()
    try:
        with simdb.open(path, "w", timeout=30) as db:
            while len(db) < 2:
                time.sleep(0.01)
            for number in range(5):
                before = len(db)
                db.insert(f"mine {number}", "some words of mine")
                assert len(db) - before < OVERTAKEN_MOST
    finally:
        for writer in writers:
            writer.kill()
            writer.join()


def _write_for_ever(path, name):
    with simdb.open(path, "w", timeout=None, durability="none") as db:
        for number in itertools.count():
            with db.write() as transaction:
                transaction.insert(f"{name} {number}", f"some words {number}")
                time.sleep(HELD_SECONDS)
