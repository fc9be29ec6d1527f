"""Text spools: texts come back by position, whatever they are."""

import numpy as np

from simdb.columns.text_column import text_column
from simdb.outputs.spool import TextSpool

TEXTS = ["one", "", "na\u00efve", "\U0001f600 smile", "lone \ud800", "x" * 3000, ""]


def read(spool, positions):
    return [text.decode("utf-8", "surrogatepass") for text in spool.texts(np.array(positions))]


def test_texts_come_back_in_any_order():
    with TextSpool() as spool:
        spool.add(TEXTS)

        assert read(spool, range(len(TEXTS))) == TEXTS
        assert read(spool, [5, 0, 2, 2]) == [TEXTS[5], "one", TEXTS[2], TEXTS[2]]
        assert read(spool, []) == []


def test_texts_can_be_added_after_some_were_read():
    with TextSpool() as spool:
        spool.add(["first"])
        before = spool.texts(np.array([0]))
        spool.add([])
        spool.add(["second", "third"])

        assert read(spool, [2, 0]) == ["third", "first"]
        assert list(before) == [b"first"]


def test_columns_of_arrow_are_added_as_they_are():
    column = text_column(np.array(TEXTS[:4], object))
    with TextSpool() as spool:
        spool.add(TEXTS[:2] if column is None else column)
        spool.add(spool.texts(np.array([0, 1])))

        assert read(spool, [0, 1]) == TEXTS[:2]
        assert read(spool, [len(column or TEXTS[:2])]) == [TEXTS[0]]


def test_many_texts_are_more_than_the_buffer(monkeypatch):
    monkeypatch.setattr("simdb.outputs.spool.WRITTEN_BYTES", 64)
    texts = [f"{at} " * (at % 40) for at in range(500)]
    with TextSpool() as spool:
        for start in range(0, 500, 33):
            spool.add(texts[start : start + 33])

        assert read(spool, range(500)) == texts
