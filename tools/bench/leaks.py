"""Leaks: which items of a test does `simdb.decontaminate` find in documents, by kind of leak?

Items and documents are passages of the same pools (`texts.py`), from different places.  Each
document has one label: the item that it leaks, or none.  Leaks: the item alone, in the middle of a
text, wrapped in short lines, with one word in ten changed, its question without its answer, in
Markdown or LaTeX.  Hard negatives share runs of words with items and leak none: a quotation that
both have, the instruction that items begin with, a licence, a formula, boilerplate.

Beside it, on the same words: any shared 13-gram, and 8-grams of which an item shares .7.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from textwrap import wrap

import simdb
from record import Record, number, options
from simdb.core import kernel
from simdb.core.options import Simhash
from simdb.sketch.winnowing import WordOrder
from texts import Pool, read_pools

LEAST_WORDS, MOST_WORDS = 25, 120  # of an item's question
ANSWER_WORDS = 12
AROUND_WORDS = 150  # of a document on each side
CHANGED = 0.1  # share of words
INSTRUCTION = (
    "Read the following problem with care, think step by step, explain how you came to your"
    " result, and write the final answer on the last line after four hashes."
)
FORMULA = "x = ( - b + sqrt ( b ^ 2 - 4 a c ) ) / ( 2 a ) and x = ( - b - sqrt ( b ^ 2 - 4 a c ) )"
ANSWERED = "Which of these statements is true, given what the text above says about it?"


@dataclass
class Item:
    """A question with its answer; `plain` is the part that no other item has."""

    id: str
    plain: str
    answer: str
    question: str = ""

    @property
    def row(self) -> dict[str, str]:
        return {"id": self.id, "question": self.question, "answer": self.answer}


@dataclass
class World:
    """Where passages come from: units of `pool`, each used for one purpose alone."""

    pool: Pool
    chance: Random
    order: list[int] = field(init=False)

    def __post_init__(self) -> None:
        # Neighbours go together, so that a passage reads on.
        blocks = list(range(0, len(self.pool.units) - 8, 8))
        self.chance.shuffle(blocks)
        self.order = [unit for block in blocks for unit in range(block, block + 8)]

    def words(self, least: int, most: int) -> str:
        """Return a passage of units that nothing else has, of so many words at least."""
        wanted, found = self.chance.randint(least, most), ""
        while len(found.split()) < wanted:
            if not self.order:
                raise ValueError("the pools are too small for so many items; take a smaller -n")
            found = f"{found} {self.pool.units[self.order.pop()]}".strip()
        return " ".join(found.split()[: max(most, wanted)])


def alone(item: Item, world: World) -> str:
    return f"{item.question}\n{item.answer}"


def in_middle(item: Item, world: World) -> str:
    return inside(f"{item.question} {item.answer}", world)


def wrapped(item: Item, world: World) -> str:
    width = world.chance.randint(24, 40)
    return inside("\n" + "\n".join(wrap(f"{item.question} {item.answer}", width)) + "\n", world)


def changed(item: Item, world: World) -> str:
    words = f"{item.question} {item.answer}".split()
    for at in world.chance.sample(range(len(words)), round(CHANGED * len(words))):
        words[at] = world.chance.choice(world.pool.words).strip()
    return inside(" ".join(words), world)


def question_alone(item: Item, world: World) -> str:
    return inside(item.question, world)


def laid_out(item: Item, world: World) -> str:
    words = f"{item.question} {item.answer}".split()
    for at in world.chance.sample(range(len(words)), max(1, len(words) // 6)):
        form = world.chance.choice(["**{}**", "*{}*", "`{}`", "${}$", "{}~"])
        words[at] = form.format(words[at])
    middle = len(words) // 2
    first, second = " ".join(words[:middle]), " ".join(words[middle:])
    return inside(f"\n\n> {first}\n>\n> {second}\n\n", world)


def inside(text: str, world: World) -> str:
    before, after = (world.words(AROUND_WORDS // 2, AROUND_WORDS) for _ in range(2))
    return f"{before} {text} {after}"


LEAKS: dict[str, Callable[[Item, World], str]] = {
    "alone": alone,
    "in the middle": in_middle,
    "in short lines": wrapped,
    "one word in ten changed": changed,
    "question without answer": question_alone,
    "Markdown and LaTeX": laid_out,
}
SHARED = ("quotation", "instruction", "licence", "formula", "boilerplate")


def made_items(count: int, world: World) -> tuple[list[Item], dict[str, list[str]]]:
    """Return items, of which two thirds share something, and what they share by its kind."""
    shared: dict[str, list[str]] = {
        "quotation": [world.words(18, 30) for _ in range(max(1, count // 12))],
        "instruction": [INSTRUCTION],
        "licence": [world.words(60, 90) for _ in range(3)],
        "formula": [FORMULA],
        "boilerplate": [f"{ANSWERED} {world.words(12, 20)}" for _ in range(3)],
    }
    items = []
    for at in range(count):
        plain = world.words(LEAST_WORDS, MOST_WORDS)
        answer = world.words(4, ANSWER_WORDS)
        item = Item(f"item {at}", plain, " ".join(answer.split()[:ANSWER_WORDS]))
        kind = (*SHARED, "", "")[at % (len(SHARED) + 2)]
        if not kind:
            item.question = plain
        elif kind in ("instruction", "boilerplate"):
            item.question = f"{world.chance.choice(shared[kind])}\n\n{plain}"
        elif kind == "licence":
            item.question = f"{plain}\n\n{world.chance.choice(shared[kind])}"
        else:
            words = plain.split()
            cut = world.chance.randrange(len(words))
            middle = world.chance.choice(shared[kind])
            item.question = " ".join([*words[:cut], middle, *words[cut:]])
        items.append(item)
    return items, shared


@dataclass
class Document:
    """A text, the item that it leaks ("" if it is a negative), and of what kind it is."""

    id: str
    text: str
    item: str
    kind: str


def made_documents(
    items: list[Item], shared: dict[str, list[str]], unrelated: int, world: World
) -> list[Document]:
    made: list[tuple[str, str, str]] = []
    for at, item in enumerate(items):
        kind = list(LEAKS)[at % len(LEAKS)]
        made.append((LEAKS[kind](item, world), item.id, kind))
        kind = SHARED[at % len(SHARED)]
        made.append((inside(world.chance.choice(shared[kind]), world), "", kind))
    for _ in range(unrelated):
        made.append((world.words(AROUND_WORDS, 2 * AROUND_WORDS), "", "unrelated"))
    world.chance.shuffle(made)
    return [Document(f"d{at}", *each) for at, each in enumerate(made)]


Pairs = set[tuple[str, str]]  # of document and item


def by_simdb(items: list[Item], documents: list[Document], **settings: float) -> Pairs:
    rows = [{"id": each.id, "text": each.text} for each in documents]
    found = simdb.decontaminate(
        rows, against=[item.row for item in items], id="id", fields=["question", "answer"],
        **settings,
    )  # fmt: skip
    return {(leak.id, leak.item) for leak in found.found}


def by_ngrams(items: list[Item], documents: list[Document], n: int, share: float) -> Pairs:
    """Return the pairs in which a document has a share of the n-grams of an item, or any (0)."""
    order = WordOrder(Simhash())
    grams = [set(each) for each in _grams([f"{i.question} {i.answer}" for i in items], n, order)]
    owners = defaultdict(list)
    for at, own in enumerate(grams):
        for gram in own:
            owners[gram].append(at)
    found = set()
    for document, own in zip(documents, _grams([d.text for d in documents], n, order), strict=True):
        counts = Counter(at for gram in set(own) for at in owners.get(gram, ()))
        found |= {
            (document.id, items[at].id)
            for at, count in counts.items()
            if count >= max(1, share * len(grams[at]))
        }
    return found


def _grams(texts: list[str], n: int, order: WordOrder) -> list[list[int]]:
    bounds, hashes = kernel.ngrams(*order.words(texts, errors="replace"), n)
    return [hashes[start:stop].tolist() for start, stop in pairwise(bounds.tolist())]


def judge(record: Record, name: str, found: Pairs, documents: list[Document]) -> None:
    """Add rows: recall of each kind of leak, precision, false alarms of each kind of negative."""
    truth = {(each.id, each.item) for each in documents if each.item}
    kinds = {each.id: each.kind for each in documents}
    right = found & truth
    record.add(f"{name}: recall", len(right) / len(truth), "")
    record.add(f"{name}: precision", len(right) / max(len(found), 1), "")
    whole, got = (Counter(kinds[document] for document, _ in pairs) for pairs in (truth, right))
    for kind in LEAKS:
        record.add(f"{name}: recall, {kind}", got[kind] / max(whole[kind], 1), "")
    wrong = Counter(kinds[document] for document, _ in found - truth)
    for kind in (*SHARED, "unrelated", *LEAKS):
        if wrong[kind]:
            record.add(f"{name}: wrong, {kind}", wrong[kind], "pairs")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("-n", type=number, default=1200, help="items")
    parser.add_argument("--unrelated", type=number, default=3000, help="documents")
    parser.add_argument("--corpora", type=Path, help="folder of NAME.jsonl.gz in place of files")
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    pools = read_pools(arguments.corpora)
    world = World(max(pools, key=lambda pool: pool.size_bytes), Random(arguments.seed))
    items, shared = made_items(arguments.n, world)
    documents = made_documents(items, shared, arguments.unrelated, world)
    judge(record, "simdb", by_simdb(items, documents), documents)
    judge(record, "any 13-gram", by_ngrams(items, documents, 13, 0), documents)
    judge(record, "8-grams .7", by_ngrams(items, documents, 8, 0.7), documents)
    record.finish()


if __name__ == "__main__":
    main()
