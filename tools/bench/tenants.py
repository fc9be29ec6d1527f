"""Tenants: what does where={} cost, by method and number of tenants?

Every tenth text is a near copy of the one before it, and a tenant has consecutive texts.  Questions
are stored texts with some words changed.  Each is asked of all documents and of its own tenant in
turn: one by one, as a batch of one tenant, and for the nearest ten.  `first` is the question that
reads the codes of all documents.
"""

import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import simdb
from record import Record, in_turns, number, options, recorded, scratch, short

WORDS = 120
NEAREST = 10
# Options, and what each question asks for.
METHODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "polytope": ({}, {}),
    "psm": ({"polytopes": 0}, {"search": "psm"}),
    "multiprobe": ({"polytopes": 0, "blocks": 4}, {"search": "multiprobe"}),
    "bphs": ({"polytopes": 0, "blocks": 4}, {"distance": 3, "search": "bphs", "recall": 1.0}),
    "banding": ({"sketch": simdb.Minhash()}, {}),
    "hashes": ({"sketch": simdb.Bits(256)}, {}),
    "exhaustive": ({"polytopes": 0}, {"search": "exhaustive", "distance": 3, "recall": 1.0}),
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=100_000, help="documents")
    parser.add_argument("--tenants", type=number, nargs="*", default=[10, 1000, 100_000])
    parser.add_argument("--only", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--queries", type=int, default=500)
    with recorded(__doc__, parser) as record:
        for name in record.arguments.only:
            for tenants in record.arguments.tenants:
                ask(record, name, min(tenants, record.arguments.n))


def ask(record: Record, name: str, tenants: int) -> None:
    """Fill a database of `tenants` tenants, and ask as inserted and compacted."""
    arguments, chance = record.arguments, Random(record.arguments.seed)
    settings, asked = METHODS[name]
    made = Documents(chance, is_hashes=name == "hashes")
    each = -(-arguments.n // tenants)
    with scratch(arguments.directory) as folder:
        path, durability = folder / "db", arguments.durability
        given = simdb.Options(fields=("tenant",), **settings)
        database = simdb.open(path, options=given, durability=durability)
        for start in range(0, arguments.n, 20_000):
            ids = range(start, min(start + 20_000, arguments.n))
            metadata = [{"tenant": f"t{id // each}"} for id in ids]
            database.insert_many(ids, [made.document(id) for id in ids], metadata)
        chosen = chance.sample(range(arguments.n), min(arguments.queries, arguments.n))
        questions = [(made.like(id), {"tenant": f"t{id // each}"}) for id in chosen]
        for state in ("inserted", "compacted"):
            if state == "compacted":
                database.compact()
            with simdb.open(path, "r") as reader:
                started = time.perf_counter()
                reader.query(questions[0][0], where=questions[0][1], **asked)
                what = f"{name}, {short(tenants)} tenants, {state}"
                record.add(f"{what}: first", 1e3 * (time.perf_counter() - started), "ms")
            compare(record, what, database, questions, asked)
        database.close()


def compare(
    record: Record, what: str, database: simdb.Database, questions: list[Any],
    asked: dict[str, Any],
) -> None:  # fmt: skip
    """Add the times of questions of one tenant and of the same questions of all documents."""
    documents = [document for document, _ in questions]
    few, where = questions[: max(len(questions) // 20, 1)], questions[0][1]
    query = partial(each_of, partial(database.query, **asked), questions)
    many = partial(database.query_many, documents, threads=1, **asked)
    near = partial(each_of, partial(database.nearest, k=NEAREST), few)
    tasks: dict[str, tuple[Callable[..., Any], int]] = {
        "query": (query, len(questions)), "query_many": (many, len(questions)),
        "nearest": (near, len(few)),
    }  # fmt: skip
    for verb, (task, count) in tasks.items():
        turns = {"all": task, "own": partial(task, where=where)}
        timings = in_turns(turns, record.arguments.repeats)
        best = {key: min(timing.processor) for key, timing in timings.items()}
        note = f"{best['own'] / max(best['all'], 1e-9) - 1:+.0%} of {1e6 * best['all'] / count:.1f}"
        own = 1e6 * best["own"] / count
        record.add(f"{what}: {verb}", own, "us", timings["own"], note=note)


def each_of(verb: Callable[..., Any], questions: list[Any], where: Any = None) -> None:
    """Ask each question; with `where`, of its own tenant."""
    for document, own in questions:
        verb(document, where=None if where is None else own)


class Documents:
    """Texts or hashes that are made again from their numbers."""

    def __init__(self, chance: Random, *, is_hashes: bool) -> None:
        """Draw the words that all texts are made of."""
        self._chance, self._is_hashes = chance, is_hashes
        self._words = [f"word{at}" for at in range(50_000)]
        self._seed = chance.random()

    def document(self, id: int) -> Any:
        """Return a document; every tenth one is like the one before it."""
        return self.like(id - 1) if id % 10 == 1 else self._made(id)

    def like(self, id: int) -> Any:
        """Return a document that is like one, with small changes."""
        made, chance = self._made(id), self._chance
        if self._is_hashes:
            flipped = sum(1 << bit for bit in chance.sample(range(256), 8))
            return (int.from_bytes(made, "big") ^ flipped).to_bytes(32, "big")
        words = made.split()
        for at in chance.sample(range(WORDS), 3):
            words[at] = chance.choice(self._words)
        return " ".join(words)

    def _made(self, id: int) -> Any:
        chance = Random(f"{self._seed} {id}")
        if self._is_hashes:
            return chance.randbytes(32)
        return " ".join(chance.choices(self._words, k=WORDS))


if __name__ == "__main__":
    main()
