"""Pieces: documents that become one run under new ordinals."""

from itertools import chain

import numpy as np
import pytest

from simdb.storage.rewriting import Piece, pieces_of
from simdb.storage.tombstones import with_deleted

RANDOM = np.random.default_rng(3).permutation(100)


def dead_of(ordinals, count):
    if ordinals is None:
        return None
    return with_deleted(None, np.array(ordinals, np.uint32), count)


@pytest.mark.parametrize("longest", [1, 7, 8, 24, 99, 100, 1000])
@pytest.mark.parametrize("gone", [None, [], [0], [99], RANDOM[:30], RANDOM[:97], range(8, 24)])
def test_pieces_have_every_live_document_once_and_in_order(gone, longest):
    live = [ordinal for ordinal in range(100) if gone is None or ordinal not in gone]

    pieces = list(pieces_of(dead_of(gone, 100), 100, longest))

    kept = [piece.kept().tolist() for piece in pieces]
    assert [*chain(*kept)] == live
    assert [len(piece) for piece in pieces] == [len(each) for each in kept]
    assert all(len(each) == longest for each in kept[:-1])
    new = [piece.renumbered(piece.kept()).tolist() for piece in pieces]
    assert [*chain(*new)] == list(range(len(live)))


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (5, 6), (3, 13), (8, 16), (9, 97)])
@pytest.mark.parametrize("gone", [None, RANDOM[:30]])
def test_a_piece_leaves_out_the_deleted_and_what_is_outside(start, stop, gone):
    piece = Piece(dead_of(gone, 100), start, stop, 2)

    bits = np.unpackbits(piece.left_out(100), bitorder="little")[:100]

    inside = set(range(start, stop)) - set([] if gone is None else gone)
    assert np.flatnonzero(bits == 0).tolist() == sorted(inside)


def test_ordinals_are_renumbered_in_any_order():
    piece = Piece(dead_of([3, 11, 12], 40), 2, 38, 1)

    assert piece.renumbered(np.array([37, 2, 13, 10], np.uint32)).tolist() == [33, 1, 9, 8]
