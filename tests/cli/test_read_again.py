"""Read again: texts and lines come back whether they have an origin, wait, or both."""

import numpy as np
import pytest

from simdb.cli.duplicates import read_again
from simdb.cli.duplicates.read_again import LinesAgain, TextsAgain
from simdb.sources.batch import Batch
from simdb.sources.origins import NOWHERE

ROW = [b'{"text": "%d"}' % at for at in range(40)]


class Row:
    """Stands for the files: the origin of a line is its number."""

    def texts(self, starts, sizes):
        return [f"{start}" for start in starts]

    def lines(self, starts, sizes):
        return [ROW[start] + b"\n" for start in starts]


def batches(kinds):
    """Return batches of ten documents; each kind says which of them wait."""
    for number, kind in enumerate(kinds):
        every = range(10 * number, 10 * number + 10)
        starts = [NOWHERE if kind == "all" or (kind == "some" and at % 3) else at for at in every]
        yield Batch(
            ids=[f"{at}" for at in every],
            texts=[f"{at}" for at in every],
            sources=["s"] * 10,
            positions=list(every),
            sizes=[len(ROW[at]) + 1 for at in every],
            lines=[ROW[at] for at in every],
            origins=None if kind == "all" else starts,
        )


KINDS = [["none"] * 4, ["all"] * 4, ["none", "some", "all", "some"], ["some", "some"], []]


def as_text(value):
    return value if isinstance(value, str) else value.decode()


@pytest.mark.parametrize("kinds", KINDS)
def test_texts_come_back_by_position(kinds):
    with TextsAgain(Row()) as texts:
        for batch in batches(kinds):
            texts.add(batch)
        count = 10 * len(kinds)

        for step in (1, 3, 7):
            wanted = np.arange(0, count, step, dtype=np.uint32)
            found = [as_text(each) for each in texts.texts(wanted)]
            assert found == [f"{at}" for at in wanted]
        assert list(texts.texts(np.empty(0, np.uint32))) == []


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("read", [1, 7, 1000])
def test_chosen_lines_are_copied(monkeypatch, kinds, read):
    monkeypatch.setattr(read_again, "READ_DOCUMENTS", read)
    chosen = [at % 4 != 1 for at in range(10 * len(kinds))]
    copied = []

    class Target:
        def writelines(self, lines):
            copied.extend(lines)

    with LinesAgain(Row()) as lines:
        for batch in batches(kinds):
            lines.add(batch, batch.lines)
        lines.copy(iter(chosen), Target())

    assert copied == [ROW[at] + b"\n" for at, each in enumerate(chosen) if each]


def test_lines_that_were_changed_wait():
    copied = []

    class Target:
        def writelines(self, lines):
            copied.extend(lines)

    with LinesAgain(Row()) as lines:
        for batch in batches(["none"]):
            lines.add(batch, [b"0" + line for line in batch.lines])
            lines.add(batch, [])
        lines.copy([True] * 10, Target())

    assert copied == [b"0" + line + b"\n" for line in ROW[:10]]
