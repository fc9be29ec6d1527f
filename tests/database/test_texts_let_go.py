"""The texts of a call are let go when it ends, without a search for circles of objects."""

import gc
import weakref


class Text(str):
    """A text whose life can be watched."""

    __slots__ = ("__weakref__",)


def test_the_texts_of_a_claim_are_let_go_with_it(database):
    gc.disable()
    try:
        with database.write() as transaction:
            texts = [Text(f"one two three four five {at % 3}") for at in range(20)]
            watched = [weakref.ref(text) for text in texts]
            transaction.add_many_if_new(
                range(20), texts, verify="exact", texts=lambda ids: [None] * len(ids)
            )
            del texts

            assert [ref() for ref in watched] == [None] * 20
    finally:
        gc.enable()
