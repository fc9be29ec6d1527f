"""Misbehaving: calls verbs with arguments that raise, end too early or have a wrong type.

After each call, the database must be unchanged.  With `callbacks`, the iterators and
callbacks of a verb also use its transaction or close its database.  They may read; anything else
must raise a BusyError before anything is staged.
"""

import simdb
from asking import refused

IDS = [f"mischief{at}" for at in range(6)]
VERBS = "insert_many", "insert_batch", "add_many_if_new"


class MischiefError(Exception):
    """An error that a caller's own code raises."""


def raising(values, at):
    for number, value in enumerate(values):
        if number == at:
            raise MischiefError
        yield value


def fresh_batch(draw):
    """Draw texts, with ids that no step ever stores."""
    return IDS.copy(), draw.texts(len(IDS))


def raise_inside(target, model, draw):
    chance = draw.chance
    ids, texts = fresh_batch(draw)
    at = chance.randrange(len(ids))
    verb = chance.choice(VERBS)
    which = chance.choice(["ids", "documents", "metadata"])
    columns = {"ids": ids, "documents": texts, "metadata": [None] * len(ids)}
    columns[which] = raising(columns[which], at)
    refused(lambda: getattr(target, verb)(**columns), MischiefError)
    return f"{verb} of {which} that raise at {at}"


def raise_in_progress(target, model, draw):
    chance = draw.chance
    ids, texts = fresh_batch(draw)

    def progress(done):
        raise MischiefError

    verb = chance.choice(VERBS)
    try:
        getattr(target, verb)(ids, texts, progress=progress)
    except MischiefError:
        return f"{verb} with a progress that raises"
    target.delete_many(ids)  # it was not called
    return f"{verb} with a progress that is not called"


def raise_in_verify(target, model, draw):
    def verify(*given):
        raise MischiefError

    [text] = draw.texts(1)
    try:
        target.query(text, recall=1.0, accept=verify)
        target.query_many([text], recall=1.0, accept=verify)
    except MischiefError:
        pass
    refused(lambda: target.query(text, accept=7), simdb.OptionError)
    return "verify that raises"


def give_unequal_numbers(target, model, draw):
    chance = draw.chance
    ids, texts = fresh_batch(draw)
    less, more = texts[: chance.randrange(len(ids))], [*texts, "more"]
    verb = chance.choice(VERBS)
    for documents in (less, more):
        given = iter(documents) if chance.random() < 0.5 else documents
        refused(lambda given=given: getattr(target, verb)(ids, given), simdb.InputError)
    refused(lambda: getattr(target, verb)(ids, texts, [None]), simdb.InputError)
    return f"{verb} of unequal numbers"


def give_wrong_types(target, model, draw):
    chance = draw.chance
    ids, texts = fresh_batch(draw)
    at = chance.randrange(len(ids))
    wrong = chance.choice([1.5, object(), {"a": 1}, None, 2**model.options.bits, -1])
    verb = chance.choice(VERBS)
    documents = [*texts[:at], wrong, *texts[at + 1 :]]
    refused(lambda: getattr(target, verb)(ids, documents), simdb.InputError)
    names = [*ids[:at], chance.choice([1.5, True, None, "", b"", ids[at - 1]]), *ids[at + 1 :]]
    named = {"on_conflict": "error"} if verb == "add_many_if_new" else {}
    refused(lambda: getattr(target, verb)(names, texts, **named), simdb.InputError)
    refused(lambda: target.delete_many([*ids, object()]), simdb.InputError)
    refused(lambda: target.query(wrong, distance=3), simdb.InputError, simdb.OptionError)
    return f"{verb} with {wrong!r:.20} in the middle"


MISCHIEF = (
    raise_inside, raise_in_progress, raise_in_verify, give_unequal_numbers, give_wrong_types,
)  # fmt: skip


def use_inside(database, transaction, model, draw):
    """Use the transaction inside an iterator that one of its verbs reads."""
    chance = draw.chance
    ids, texts = fresh_batch(draw)
    forbidden = {
        "insert": lambda: transaction.insert("inside", *draw.texts(1)),
        "insert_many": lambda: transaction.insert_many(["inside"], draw.texts(1)),
        "insert_batch": lambda: transaction.insert_batch(["inside"], draw.texts(1)),
        "add_if_new": lambda: transaction.add_if_new("inside", *draw.texts(1)),
        "delete_many": lambda: transaction.delete_many(model.live_ids()[:2]),
        "commit": transaction.commit,
        "abort": transaction.abort,
        "close": database.close,
    }
    name = chance.choice(list(forbidden))
    place = chance.choice(["ids", "documents", "metadata", "progress", "delete"])
    outcome = []

    def inside(values):
        for value in values:
            if not outcome:
                assert len(transaction) == len(model)
                try:
                    forbidden[name]()
                except simdb.BusyError:
                    outcome.append("refused")
                else:
                    outcome.append("done")
            yield value

    told = f"{name} inside of {place}"
    if place == "delete":
        transaction.delete_many(inside(["mischief", "unknown"]))
    else:
        columns = {"ids": ids, "documents": texts, "metadata": [None] * len(ids)}
        if place == "progress":
            columns["progress"] = lambda done: list(inside([done]))
        else:
            columns[place] = inside(columns[place])
        transaction.insert_many(**columns)
        transaction.delete_many(ids)
    assert outcome in (["refused"], []), f"{told} was {outcome}"
    return told


def read_inside(target, model, draw):
    """Call reading verbs inside an iterator that a verb reads."""
    ids, texts = fresh_batch(draw)

    def documents():
        for text in texts:
            assert len(target) == len(model)
            target.query(text, recall=1.0)
            yield text

    target.insert_many(ids, documents())
    target.delete_many(ids)
    return "reading inside of documents"
