"""Which leaks of a test does `simdb.decontaminate` find, of every kind, and at what speed?

Labelled sets are made of texts.  Each kind of leak changes a passage, an item, in another way and
puts it into other text.  Each kind of negative has a part of an item, but not the item.  Further
texts have nothing of an item.  `--prose`, `--posts` and `--languages` name folders or files of
NAME.jsonl.gz with a field "text"; by default, the docstrings and sources of the running Python are
taken.  English texts of the third set are written in the letters of other scripts.

kinds      Recall and precision, compared with the rules of other projects.  GPT-3: any shared
           13-gram.  PaLM: .7 of the 8-grams.  Tulu 3: half of the words in shared 8-grams.  Llama
           2: half of the words in runs of ten and more equal words, with up to four others.

speed      Bytes a second of processor time, by number of items and share of texts with a leak.

hostile    Nanoseconds a word, for texts of few distinct words that are items themselves.

A document that has any other item than the expected one counts as wrong.  `--show` prints the cases
of some kinds that were not found, or were wrong:

    SIMDB_KERNEL=avx2 python tools/bench/leaks.py --prose FOLDER/news.jsonl.gz --show "OCR errors"
"""

import ast
import gzip
import html
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import simdb
from record import Record, Timing, measure, number, options, recorded, scratch
from texts import Pool as Passages, Texts, python_texts, read_pools

SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{SPACELESS}]|(?:(?![{SPACELESS}])\w)+")
UNIT = re.compile(rf"(?:{WORD.pattern})(?:(?![{SPACELESS}])\W)*")  # a word and what is behind it
POOL_WORDS = 1_500_000
KNOWN_SHARE = 0.15  # of the 8-grams of a text that other texts may have
HOST = 20, 80  # words around a leak
SHOWN = 3  # cases of a kind
READ_BYTES = 20_000_000
ITEM_WORDS = 15, 60
TEST_STEP = 2
LEAKING = {"few leaks": 0, "a tenth leak": 10}  # interval of texts with a leak; 0 for few
HOSTILE = {
    "one word": lambda at, chance: "alpha",
    "two words": lambda at, chance: ("alpha", "beta")[at % 2],
    "squares mod 7": lambda at, chance: f"w{at * at % 7}",
    "a coin": lambda at, chance: chance.choice(("heads", "tails")),
    "codons": lambda at, chance: "".join(chance.choices("ACGT", k=3)),
}

OTHER = str.maketrans(".,;:!?", ",.:;?!")
TYPOGRAPHIC = str.maketrans({'"': "\u201d", "'": "\u2019", "-": "\u2013"})
FULL_WIDTH = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}

Units = list[str]
Found = list[set[int]]


class Case(NamedTuple):
    """A document, and items made with it; `leaked`: the place of the item that it has."""

    kind: str
    items: list[str]
    text: str
    leaked: int | None


# -- texts


class Pool:
    """Passages of texts, each given once."""

    def __init__(self, texts: Iterable[str], chance: Random) -> None:
        """Keep texts that share little with each other."""
        self.chance = chance
        every = list(dict.fromkeys(texts))
        chance.shuffle(every)
        known, self._left, size = set[int](), list[Units](), 0
        for text in every:
            units = UNIT.findall(text)
            grams = {hash(each) for each in ngrams(words_of(text), 8)}
            if len(units) > 4 and len(grams & known) <= KNOWN_SHARE * len(grams):
                self._left.append(units)
                known |= grams
                size += len(units)
            if size > POOL_WORDS:
                break
        self.vocabulary = [word_in(unit) for own in self._left[::7] for unit in own[::5]]
        self.frequent = [each for each, _ in Counter(self.vocabulary).most_common(60)]
        self._shared = dict[tuple[str, int], str]()

    def units(self, least: int, most: int | None = None) -> Units:
        """Return a passage of `least` to `most` words; short texts are joined."""
        size, found = self.chance.randint(least, most or least), Units()
        while len(found) < size:
            if not self._left:
                raise SystemExit("too few texts for sets of this size")
            own, missing = self._left.pop(), size - len(found)
            if found:
                found[-1] = found[-1].rstrip(" ") + "\n"
            found += own[:missing]
            if own[missing:]:
                place = self.chance.randrange(len(self._left) + 1)
                self._left.insert(place, own[missing:])
        return found

    def text(self, least: int, most: int | None = None) -> str:
        return "".join(self.units(least, most)).strip()

    def word(self) -> str:
        return self.chance.choice(self.vocabulary)

    def hosted(self, text: str) -> str:
        """Return a text between others, or one in three times alone."""
        if self.chance.random() < 1 / 3:
            return text
        return f"{self.text(*HOST)}\n\n{text}\n\n{self.text(*HOST)}"

    def shared(self, name: str, least: int, most: int, kinds: int = 1) -> str:
        """Return one of some passages that many cases share."""
        at = name, self.chance.randrange(kinds)
        if at not in self._shared:
            self._shared[at] = self.text(least, most)
        return self._shared[at]

    def backgrounds(self, count: int) -> list[str]:
        return [self.text(50, 400) for _ in range(count)]


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[at:] for at in range(n)), strict=False))


def word_in(unit: str) -> str:
    found = WORD.match(unit)
    assert found is not None, "a unit begins with a word"
    return found[0]


def replaced(unit: str, word: str) -> str:
    """Return a unit with another word."""
    return word + unit[len(word_in(unit)) :]


def each_nth(step: int, change: Callable[[str], str]) -> Callable[[Units, Pool], str]:
    """Return an edit that changes each `step`-th unit."""
    return lambda units, pool: "".join(
        change(unit) if at % step == step - 1 else unit for at, unit in enumerate(units)
    )


def changed(units: Units, places: Iterable[int], pool: Pool) -> str:
    """Return the text with other words at some places."""
    own = list(units)
    for at in places:
        own[at] = replaced(own[at], pool.word())
    return "".join(own)


def some(units: Units, share: float, pool: Pool) -> list[int]:
    return pool.chance.sample(range(len(units)), max(1, round(share * len(units))))


def lines(units: Units, size: int = 8) -> list[str]:
    """Return the text in lines of `size` words."""
    return [" ".join("".join(each).split()) for each in cut(units, size)]


# -- leaks: the text of a passage as a document has it, or another item with its text

LEAKS: dict[str, Callable[[Pool], tuple[str, str]]] = {}


def leak(least: int = 40, most: int = 120) -> Callable[[Any], Any]:
    """Name a kind of leak after its function, for passages of `least` to `most` words."""

    def named(edit: Callable[[Units, Pool], Any]) -> Any:
        def made(pool: Pool) -> tuple[str, str]:
            units = pool.units(least, most)
            result = edit(units, pool)
            return result if isinstance(result, tuple) else ("".join(units), result)

        LEAKS[edit.__name__.replace("_", " ")] = made
        return edit

    return named


def leaks_by(kinds: dict[str, Callable[[Units, Pool], Any]], *sizes: int) -> None:
    """Name several kinds of leaks."""
    for name, edit in kinds.items():
        edit.__name__ = name
        leak(*sizes)(edit)


def by_word(change: Callable[[str], str]) -> Callable[[Units, Pool], str]:
    return lambda units, pool: "".join(replaced(unit, change(word_in(unit))) for unit in units)


def by_text(change: Callable[[str], str]) -> Callable[[Units, Pool], str]:
    return lambda units, pool: change("".join(units))


def by_line(shown: str, end: str = "\n", size: int = 8) -> Callable[[Units, Pool], str]:
    """Return an edit that shows each line, given its number, in its own way."""
    return lambda units, pool: end.join(
        shown.format(line=line, at=at, word=pool.word(), minutes=at // 6, seconds=at * 10 % 60)
        for at, line in enumerate(lines(units, size), 1)
    )


def ending(units: Units) -> str:
    """Return the last unit of a text without line ends, so that more text can come behind it."""
    return "".join(units).rstrip() + " "


def part(units: Units, first: float, last: float) -> str:
    return ending(units[round(first * len(units)) : round(last * len(units))])


def in_the_middle(units: Units, size: int, pool: Pool) -> str:
    return " ".join([pool.text(size), "".join(units), pool.text(size)])


def halves(units: Units) -> tuple[str, str]:
    return part(units, 0, 0.5), " " + part(units, 0.5, 1)


def around(step: int, shown: str) -> Callable[[Units, Pool], str]:
    """Return an edit that shows each `step`-th word in another way."""
    return each_nth(step, lambda unit: replaced(unit, shown.format(word_in(unit))))


def with_words_between(units: Units, step: int, pool: Pool) -> str:
    return "".join(ending(each) + pool.word() + " " for each in cut(units, step))


def in_two_columns(units: Units, pool: Pool) -> str:
    both = zip(lines(units, 7), lines(pool.units(len(units)), 6), strict=False)
    return "\n".join(f"{left}    {right}" for left, right in both)


def several_changed(count: int) -> Callable[[Units, Pool], str]:
    return lambda units, pool: changed(units, pool.chance.sample(range(len(units)), count), pool)


def end_changed(units: Units, pool: Pool) -> str:
    return changed(units, [pool.chance.choice((0, -1))], pool)


def with_chorus(units: Units) -> tuple[str, str]:
    chorus = ["".join(units[30:36]).strip()] * 6
    song = "\n".join(["".join(units[:30]), *chorus, "".join(units[36:])])
    return song, song.replace("\n", " / ")


def cut_at_line_ends(units: Units, pool: Pool) -> str:
    halves = each_nth(12, lambda unit: f"{unit[: len(unit) // 2]}-\n{unit[len(unit) // 2 :]}")
    return halves(units, pool)


leaks_by(
    {
        "whole": by_text(str),
        "in a long document": lambda units, pool: in_the_middle(units, 700, pool),
        "twice": lambda units, pool: pool.text(30).join([ending(units), " " + ending(units)]),
        "each tenth word changed": lambda units, pool: changed(
            units, range(9, len(units), 10), pool
        ),
        "each seventh word changed": lambda units, pool: changed(
            units, range(6, len(units), 7), pool
        ),
        "one word in ten changed": lambda units, pool: changed(units, some(units, 0.1, pool), pool),
        "one word in five changed": lambda units, pool: changed(
            units, some(units, 0.2, pool), pool
        ),
        "one word put in after eight": lambda units, pool: with_words_between(units, 8, pool),
        "each tenth word left out": each_nth(10, lambda unit: ""),
        "each ninth word twice": each_nth(9, lambda unit: f"{word_in(unit)} {unit}"),
        "upper case": by_text(str.upper),
        "no punctuation": lambda units, pool: " ".join(map(word_in, units)),
        "other punctuation": by_text(lambda text: text.translate(OTHER)),
        "typographic quotes": by_text(
            lambda text: text.translate(TYPOGRAPHIC).replace("...", "\u2026")
        ),
        "white space": by_text(lambda text: re.sub(r"\s", "\u00a0 \t\n", text)),
        "short lines": by_line("{line}", size=5),
        "quoted lines": by_line("> {line}"),
        "numbered lines": by_line("{at:3} {line}", size=7),
        "comment lines": by_line(" * {line}"),
        "times before lines": by_line("[00:{minutes:02}:{seconds:02}] {line}", size=9),
        "speakers before lines": by_line("{word}: {line}", size=9),
        "hyphens at line ends": cut_at_line_ends,
        "cells of a table": by_line("| {line} |", size=6),
        "HTML around each fourth word": around(4, '<b class="x">{}</b>'),
        "HTML list": by_line(
            '<li class="item"><a href="http://example.org/{at}">{line}</a></li>', size=6
        ),
        "HTML comments": each_nth(6, lambda unit: f"{unit}<!-- see the note -->"),
        "LaTeX around each fourth word": around(4, "\\textbf{{{}}}"),
        "LaTeX lines": by_line("\\begin{{quote}}\\emph{{{line}}}\\\\\\end{{quote}}", size=6),
        "Markdown around each third word": around(3, "**{}**"),
        "Markdown links": around(5, "[{}](https://example.org/wiki/page_one?x=1)"),
        "entities": around(4, "{}&nbsp;&#8212;"),
        "escaped as HTML": by_text(lambda text: html.escape(text).replace(" ", "&#32;")),
        "escaped as JSON": by_text(partial(json.dumps, ensure_ascii=False)),
        "references": each_nth(10, lambda unit: f"{unit.rstrip()}[12] "),
        "cloze": each_nth(8, lambda unit: replaced(unit, "____")),
        "soft hyphens": by_word(lambda word: "\u00ad".join(cut(word, 4))),
        "full width": by_text(lambda text: text.translate(FULL_WIDTH)),
        "other normal form": by_text(lambda text: unicodedata.normalize("NFD", text)),
        "OCR errors": lambda units, pool: with_typing_errors(units, 0.1, pool),
        "OCR of some letters": by_word(lambda word: word.replace("rn", "m").replace("cl", "d")),
        "code with other indentation": by_text(lambda text: re.sub(r"(?m)^\s*", "\t\t", text)),
        "one name changed": lambda units, pool: one_name_changed(units, pool),
        "poem in one line": by_line("{line}", " / ", 6),
        "halves swapped": lambda units, pool: part(units, 0.5, 1) + part(units, 0, 0.5),
        "parts shuffled": lambda units, pool: parts_shuffled(units, pool),
        "a gap of eleven words": lambda units, pool: pool.text(11).join(halves(units)),
        "the beginning is missing": lambda units, pool: "".join(units[len(units) // 4 :]),
        "two columns": lambda units, pool: in_two_columns(units, pool),
        "a chorus": lambda units, pool: with_chorus(units),
    }
)
leaks_by(
    {
        "13 to 19 words, one changed": several_changed(1),
        "whole, 13 to 19 words": by_text(str),
    },
    13,
    19,
)
leaks_by(
    {
        "8 to 12 words, one changed": several_changed(1),
        "8 to 12 words, first or last changed": end_changed,
        "whole, 8 to 12 words": by_text(str),
    },
    8,
    12,
)
leaks_by(
    {
        "13 to 25 words, two changed": several_changed(2),
        "13 to 25 words, three changed": several_changed(3),
    },
    13,
    25,
)
leaks_by({"5 to 7 words": by_text(str)}, 5, 7)
leaks_by(
    {
        "first six tenths": lambda units, pool: "".join(units[: len(units) * 6 // 10]),
        "last six tenths": lambda units, pool: "".join(units[len(units) * 4 // 10 :]),
        "three quarters in two parts": lambda units, pool: pool.text(25).join(
            [part(units, 0, 0.38), " " + part(units, 0.62, 1)]
        ),
    },
    100,
    160,
)


@leak(40, 80)
def question_without_its_answers(units: Units, pool: Pool) -> tuple[str, str]:
    question = ending(units)
    return f"{question}\n{choices([pool.text(2, 5) for _ in range(4)])}", question


@leak(40, 80)
def answers_in_another_order(units: Units, pool: Pool) -> tuple[str, str]:
    answers = [pool.text(3, 8) for _ in range(4)]
    return tuple(f"{ending(units)}\n{choices(each)}" for each in (answers, answers[::-1]))


@leak(40, 80)
def comma_in_numbers(units: Units, pool: Pool) -> tuple[str, str]:
    numbers = [pool.chance.randrange(1000, 9_999_999) for _ in range(len(units) // 7)]
    return with_numbers(units, map(str, numbers)), with_numbers(
        units, (f"{each:,}" for each in numbers)
    )


@leak(40, 80)
def same_numbers_and_some_words_changed(units: Units, pool: Pool) -> tuple[str, str]:
    numbers = [str(pool.chance.randrange(2, 999)) for _ in range(len(units) // 9)]
    other = [replaced(unit, pool.word()) if at % 10 == 4 else unit for at, unit in enumerate(units)]
    return with_numbers(units, numbers), with_numbers(other, numbers)


@leak(25, 40)
def own_item_of_a_template(units: Units, pool: Pool) -> tuple[str, str]:
    """A template that many items have is in the documents, and the words of this one."""
    template = pool.shared("template of leaks", 25, 25)
    item = f"{template} {''.join(units)}"
    return item, item


def choices(answers: Iterable[str]) -> str:
    return "\n".join(f"({name}) {answer}" for name, answer in zip("ABCD", answers, strict=True))


def with_numbers(units: Units, numbers: Iterable[str]) -> str:
    """Return the text with a number behind each seventh word, as long as there are some."""
    left, own = iter(numbers), []
    for at, unit in enumerate(units):
        own.append(unit.rstrip() + " " if at % 7 == 6 else unit)
        own += [f"{each} " for each in islice(left, at % 7 == 6)]
    return "".join(own)


def cut(whole: Any, size: int) -> list[Any]:
    """Return parts of `size` words, letters or lines."""
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def with_typing_errors(units: Units, share: float, pool: Pool) -> str:
    """Return the text with another letter in some of its words."""
    own = list(units)
    for at in some(units, share, pool):
        word = word_in(own[at])
        place = pool.chance.randrange(len(word))
        letter = pool.chance.choice(pool.word())
        own[at] = replaced(own[at], word[:place] + letter + word[place + 1 :])
    return "".join(own)


def one_name_changed(units: Units, pool: Pool) -> str:
    """Return the text with another word for a word that occurs about twice."""
    counts = Counter(map(word_in, units))
    name = min(counts, key=lambda each: (abs(counts[each] - 3), each))
    other = pool.word()
    return "".join(replaced(unit, other) if word_in(unit) == name else unit for unit in units)


def parts_shuffled(units: Units, pool: Pool) -> str:
    parts = [ending(list(each)) for each in cut(units, max(12, len(units) // 5))]
    pool.chance.shuffle(parts)
    return "".join(parts)


# -- negatives: items, and a document that has none of them

NEGATIVES: dict[str, Callable[[Pool], tuple[list[str], str]]] = {}


def negative(make: Callable[[Pool], tuple[list[str], str]]) -> Any:
    """Name a kind of negative after its function."""
    NEGATIVES[make.__name__.replace("_", " ")] = make
    return make


def negatives_by(kinds: dict[str, Callable[[Units, Pool], str]], least: int, most: int) -> None:
    """Name several kinds of negatives, each made of the item."""

    def made(edit: Callable[[Units, Pool], str], pool: Pool) -> tuple[list[str], str]:
        units = pool.units(least, most)
        return ["".join(units)], edit(units, pool)

    for name, edit in kinds.items():
        NEGATIVES[name] = partial(made, edit)


negatives_by(
    {
        "bag of words": lambda units, pool: shuffled(units, 1, pool),
        "sorted words": lambda units, pool: " ".join(sorted(map(word_in, units))),
        "words in reverse": lambda units, pool: " ".join(map(word_in, units[::-1])),
        "each second word": lambda units, pool: with_words_between(units[::2], 1, pool),
        "each third word changed": lambda units, pool: changed(
            units, range(2, len(units), 3), pool
        ),
        "pairs of words shuffled": lambda units, pool: shuffled(units, 2, pool),
        "quotation of a fifth": lambda units, pool: part(units, 0.4, 0.6),
        "quotation of a third": lambda units, pool: part(units, 0.1, 0.4),
        "a fifth in three places": lambda units, pool: apart(units, 0.08, 80, pool),
        "random paragraphs": lambda units, pool: pool.text(len(units)),
        "halves far from one another": lambda units, pool: pool.text(1200).join(
            [part(units, 0, 0.3), part(units, 0.6, 0.9)]
        ),
    },
    70,
    120,
)
negatives_by(
    {
        "5 to 7 words, one changed": several_changed(1),
        "5 to 7 words, one put in": lambda units, pool: (
            f"{ending(units[:4])}{pool.word()} {ending(units[4:])}"
        ),
    },
    5,
    7,
)
negatives_by(
    {
        "8 to 10 words, four changed": lambda units, pool: changed(
            units, some(units, 0.4, pool), pool
        ),
        "half of 8 to 10 words": lambda units, pool: part(units, 0, 0.6),
    },
    8,
    10,
)
negatives_by({"half of 13 to 19 words": lambda units, pool: part(units, 0, 0.55)}, 13, 19)


def shuffled(units: Units, size: int, pool: Pool) -> str:
    rows = cut([*map(word_in, units)], size)
    return " ".join(" ".join(each) for each in pool.chance.sample(rows, len(rows)))


def apart(units: Units, share: float, words: int, pool: Pool) -> str:
    return pool.text(words).join(part(units, at, at + share) for at in (0.1, 0.4, 0.7))


def other_numbers(size: int, step: int, digits: int, pool: Pool) -> tuple[list[str], str]:
    """Return an item with numbers, and the same text with others."""
    # Numbers that both have say that they are one item.
    units = [unit for unit in pool.units(2 * size) if not unit[0].isdigit()][:size]
    item, other = (
        with_numbers(
            units, (str(pool.chance.randrange(2, 10**digits)) for _ in range(size // step))
        )
        for _ in range(2)
    )
    return [item], other


NEGATIVES["same problem, other numbers"] = partial(other_numbers, 45, 9, 2)
NEGATIVES["report with other figures"] = partial(other_numbers, 90, 8, 5)
NEGATIVES["short, other dates"] = partial(other_numbers, 21, 7, 4)


def template(size: int, names: int, items: int, pool: Pool) -> tuple[list[str], str]:
    """Return items that differ in some words, and a text with other words there."""
    units = pool.units(size)
    places = pool.chance.sample(range(3, size - 3), names)
    made = [changed(units, places, pool) for _ in range(items + 1)]
    return made[:-1], made[-1]


NEGATIVES["docstring of another class"] = partial(template, 40, 4, 4)
NEGATIVES["template of three items"] = partial(template, 20, 1, 3)
NEGATIVES["template of five items, long"] = partial(template, 70, 3, 5)
NEGATIVES["template of twenty items"] = partial(template, 30, 2, 20)


@negative
def licence_that_many_documents_have(pool: Pool) -> tuple[list[str], str]:
    licence = pool.shared("licence", 80, 120)
    return [f"{licence}\n{pool.text(20, 40)}"], f"{licence}\n{pool.text(20, 40)}"


@negative
def instruction_of_all_items(pool: Pool) -> tuple[list[str], str]:
    instruction = pool.shared("instruction", 40, 40)
    return [f"{instruction}\n{pool.text(15, 30)}"], f"{instruction}\n{pool.text(15, 30)}"


def passage_of_items(items: int, least: int, most: int, pool: Pool) -> tuple[list[str], str]:
    passage = pool.text(least, most)
    made = [f"{passage}\n{pool.text(8, 14)}" for _ in range(items + 1)]
    return made[:-1], made[-1]


NEGATIVES["short passage of three items"] = partial(passage_of_items, 3, 30, 50)
NEGATIVES["long passage of three items"] = partial(passage_of_items, 3, 80, 120)
NEGATIVES["long passage of five items"] = partial(passage_of_items, 5, 80, 120)


@negative
def signatures(pool: Pool) -> tuple[list[str], str]:
    signature = pool.shared("signature", 20, 30, 3)
    return [f"{pool.text(50, 90)}\n-- \n{signature}"], f"{pool.text(50, 90)}\n-- \n{signature}"


@negative
def table_of_contents(pool: Pool) -> tuple[list[str], str]:
    heads = [pool.text(2, 4) for _ in range(14)]
    item = "\n".join(f"{at}. {head}\n{pool.text(8)}" for at, head in enumerate(heads, 1))
    return [item], "\n".join(f"{at}. {head} ...... {3 * at}" for at, head in enumerate(heads, 1))


@negative
def six_of_eight_ordinary_words(pool: Pool) -> tuple[list[str], str]:
    words = [pool.chance.choice(pool.frequent) for _ in range(8)]
    return [" ".join(words)], " ".join([pool.word(), *words[1:7], pool.word()])


@negative
def same_topic(pool: Pool) -> tuple[list[str], str]:
    units = pool.units(160)
    return ["".join(units[:80])], "".join(units[80:])


@negative
def same_answers(pool: Pool) -> tuple[list[str], str]:
    answers = choices([pool.shared(f"answer {at}", 3, 5) for at in range(4)])
    return [f"{pool.text(25, 50)}\n{answers}"], f"{pool.text(25, 50)}\n{answers}"


@negative
def refrain(pool: Pool) -> tuple[list[str], str]:
    again = pool.text(8)
    item, other = (f"\n{again}\n".join(pool.text(20) for _ in range(4)) for _ in range(2))
    return [item], other


@negative
def same_markup(pool: Pool) -> tuple[list[str], str]:
    item, other = (
        "".join(f'<tr class="odd"><td width="10%">{pool.text(3)}</td></tr>\n' for _ in range(20))
        for _ in range(2)
    )
    return [item], other


@negative
def same_formula(pool: Pool) -> tuple[list[str], str]:
    formula = "x = ( - b + sqrt ( b ^ 2 - 4 a c ) ) / ( 2 a ) if a is not 0"
    return [f"{pool.text(20, 30)} {formula} {pool.text(20)}"], f"{formula} {pool.text(30)}"


@negative
def code_with_other_names(pool: Pool) -> tuple[list[str], str]:
    units = pool.units(60, 100)
    names = {word: pool.word() for word in set(map(word_in, units)) if word not in pool.frequent}
    other = (replaced(unit, names.get(word_in(unit), word_in(unit))) for unit in units)
    return ["".join(units)], "".join(other)


# -- sets


def made_cases(pool: Pool, count: int) -> list[Case]:
    """Make `count` cases of each kind."""
    cases = []
    for kind, make in LEAKS.items():
        for _ in range(count):
            item, text = make(pool)
            cases.append(Case(kind, [item], pool.hosted(text), 0))
    for kind, refused in NEGATIVES.items():
        for _ in range(count):
            items, text = refused(pool)
            cases.append(Case(kind, items, pool.hosted(text), None))
    return cases


def read_texts(paths: Sequence[str]) -> Iterator[str]:
    """Yield the texts of files and folders."""
    for path in map(Path, paths):
        for each in sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]:
            with gzip.open(each, "rt", encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)["text"]


def docstrings() -> Iterator[str]:
    """Yield the docstrings of the standard library."""
    for source in python_texts(READ_BYTES):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            is_described = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            if is_described and (text := ast.get_docstring(node)):
                yield text


def functions() -> Iterator[str]:
    """Yield parts of the sources of the standard library."""
    for source in python_texts(READ_BYTES):
        yield from map("".join, cut(source.splitlines(keepends=True), 60))


# The first of 26 letters, and the step to the next one.
SCRIPTS = {
    "Greek": (0x3B1, 1), "Cyrillic": (0x430, 1), "Armenian": (0x561, 1), "Georgian": (0x10D0, 1),
    "Hebrew": (0x5D0, 1), "Arabic": (0x627, 1), "Hindi": (0x915, 1), "Hangul": (0xAC00, 28),
    "Thai": (0xE01, 1),
}  # fmt: skip


def in_other_scripts(texts: Iterable[str], chance: Random) -> Iterator[str]:
    """Yield texts; ASCII ones in the letters of a script, or with one character a word."""
    tables = [
        {ord("a") + at: chr(first + at * step) for at in range(26)}
        for first, step in SCRIPTS.values()
    ]
    for text in texts:
        if sum(map(str.isascii, text)) < 0.95 * len(text):
            yield text
            continue
        script = chance.randrange(len(tables) + 3)
        if script < len(tables):
            text = text.lower().translate(tables[script])
            yield re.sub(" ", "", text) if script == len(tables) - 1 else text
        elif script < len(tables) + 2:
            yield "".join(map(character, words_of(text)))
        else:
            yield text


def character(word: str) -> str:
    """Return a number as it is, of another word a character of its own, as far as there are."""
    if word.isdigit():
        return word
    return chr(0x4E00 + Random(word).randrange(3000))


def sets(arguments: Any) -> Iterator[tuple[str, Pool]]:
    chance = Random(arguments.seed)
    posts = read_texts(arguments.posts) if arguments.posts else functions()
    prose = read_texts(arguments.prose) if arguments.prose else docstrings()
    languages = read_texts(arguments.languages) if arguments.languages else docstrings()
    yield "prose", Pool(prose, chance)
    yield "posts", Pool(posts, chance)
    yield "languages", Pool(in_other_scripts(languages, chance), chance)


# -- rules of others: in which of the texts which of the items are


def shared_ngrams(
    texts: Sequence[str], items: Sequence[str], n: int
) -> Iterator[dict[int, set[int]]]:
    """Yield for each text the places of the n-grams of items that it has, by item."""
    places = defaultdict(list)
    for item, text in enumerate(items):
        for at, gram in enumerate(ngrams(words_of(text), n)):
            places[gram].append((item, at))
    for text in texts:
        found = defaultdict[int, set[int]](set)
        for gram in set(ngrams(words_of(text), n)):
            for item, at in places.get(gram, ()):
                found[item].add(at)
        yield found


def by_any_13_gram(texts: Sequence[str], items: Sequence[str]) -> Found:
    return [set(found) for found in shared_ngrams(texts, items, 13)]


def by_share_of_8_grams(texts: Sequence[str], items: Sequence[str]) -> Found:
    least = [max(1, 0.7 * (len(words_of(item)) - 7)) for item in items]
    return [
        {item for item, places in found.items() if len(places) >= least[item]}
        for found in shared_ngrams(texts, items, 8)
    ]


def by_words_in_8_grams(texts: Sequence[str], items: Sequence[str]) -> Found:
    sizes = [len(words_of(item)) for item in items]
    return [
        {
            item
            for item, places in found.items()
            if len({at + more for at in places for more in range(8)}) > sizes[item] / 2
        }
        for found in shared_ngrams(texts, items, 8)
    ]


def by_skip_grams(texts: Sequence[str], items: Sequence[str]) -> Found:
    """Begin at ten equal words; go on over four others at most, which do not come last."""
    owned, places = [words_of(item) for item in items], defaultdict(list)
    for item, words in enumerate(owned):
        for at, gram in enumerate(ngrams(words, 10)):
            places[gram].append((item, at))
    found: Found = []
    for text in texts:
        words, covered = words_of(text), defaultdict[int, set[int]](set)
        for start, gram in enumerate(ngrams(words, 10)):
            for item, at in places.get(gram, ()):
                skipped = 0
                both = zip(owned[item][at:], words[start:], strict=False)
                for place, (own, other) in enumerate(both, at):
                    skipped += own != other
                    if skipped > 4:
                        break
                    if own == other:
                        covered[item].add(place)
        found.append({item for item, at in covered.items() if 2 * len(at) >= len(owned[item])})
    return found


def by_simdb(texts: Sequence[str], items: Sequence[str], **more: Any) -> Found:
    found: Found = [set() for _ in texts]
    for each in simdb.decontaminate(list(texts), against=list(items), **more).found:
        found[each.id].add(each.item)
    return found


RULES: dict[str, Callable[[Sequence[str], Sequence[str]], Found]] = {
    "simdb": by_simdb, "13-gram": by_any_13_gram, "PaLM": by_share_of_8_grams,
    "Tulu 3": by_words_in_8_grams, "Llama 2": by_skip_grams,
}  # fmt: skip


def kinds(record: Record) -> None:
    """Add rows: recall and precision by set and rule, and what is found of each kind."""
    arguments = record.arguments
    for name, pool in sets(arguments):
        cases = made_cases(pool, arguments.count)
        texts = [case.text for case in cases] + pool.backgrounds(arguments.background)
        items = list(dict.fromkeys(item for case in cases for item in case.items))
        places = {item: at for at, item in enumerate(items)}
        expected = [
            None if case.leaked is None else places[case.items[case.leaked]] for case in cases
        ] + [None] * arguments.background
        shares = defaultdict[str, dict[str, float]](dict)
        for rule, decide in RULES.items():
            found = decide(texts, items)
            right = [own in each for own, each in zip(expected, found, strict=True)]
            wrong = [
                any(not is_there(items[item], text) for item in each - {own})
                for own, each, text in zip(expected, found, texts, strict=True)
            ]
            leaks, hits = len(cases) - expected[: len(cases)].count(None), sum(map(bool, found))
            record.add(f"{name}, {rule}: recall", sum(right) / leaks, "")
            beside = sum(wrong[len(cases) :])
            note = f"{sum(wrong)} of {hits} documents wrong, {beside} of them background"
            record.add(f"{name}, {rule}: precision", 1 - sum(wrong) / max(hits, 1), "", note=note)
            for kind in [*LEAKS, *NEGATIVES]:
                own = [at for at, case in enumerate(cases) if case.kind == kind]
                counted = right if kind in LEAKS else wrong
                shares[kind][rule] = sum(counted[at] for at in own) / len(own)
            if rule == "simdb":
                show(arguments.show, cases, items, found, expected)
        for kind, own in shares.items():
            note = ", ".join(f"{rule} {own[rule]:.2f}" for rule in list(RULES)[1:])
            unit = "found" if kind in LEAKS else "wrong"
            record.add(f"{name}: {kind}", own["simdb"], unit, note=note)


def is_there(item: str, text: str) -> bool:
    """Return whether a text has an item word for word, by chance."""
    return f" {' '.join(words_of(item))} " in f" {' '.join(words_of(text))} "


def show(
    wanted: Sequence[str], cases: Sequence[Case], items: Sequence[str], found: Found,
    expected: Sequence[int | None],
) -> None:  # fmt: skip
    """Print cases of some kinds that were decided wrongly."""
    shown = Counter[str]()
    for case, each, own in zip(cases, found, expected, strict=False):
        if case.kind in wanted and each != ({own} - {None}) and shown[case.kind] < SHOWN:
            shown[case.kind] += 1
            given = case.items[case.leaked or 0]
            print(f"== {case.kind}\n-- item\n{given}\n-- document\n{case.text}")
            for other in each - {own}:
                print(f"-- wrong\n{items[other]}")


# -- speed


def speed(record: Record) -> None:
    """Add the rate of each number of items, with texts in memory and in a file."""
    arguments, chance = record.arguments, Random(record.arguments.seed)
    pools = [Passages(read_texts([path])) for path in arguments.texts] or read_pools(None)
    tests = [Passages(read_texts([path])) for path in arguments.tests]
    if not tests:  # a part of the texts, which are not made of it
        tests = [Passages(pool.units[::TEST_STEP]) for pool in pools]
        pools = [Passages(pool.units[1::TEST_STEP]) for pool in pools]
    made, texts, size = Texts(pools, arguments.seed), list[str](), 0
    while size < arguments.megabytes * 1e6:
        texts.append(made.text(len(texts)))
        size += len(texts[-1].encode())
    units, every = [unit for pool in tests for unit in pool.units], []
    while units and len(every) < max(arguments.items):
        own = Units()
        while units and sum(len(words_of(each)) for each in own) < chance.randint(*ITEM_WORDS):
            own.append(units.pop())
        every.append(" ".join(own))
    for count in arguments.items:
        items = chance.sample(every, min(count, len(every)))
        for name, step in LEAKING.items():
            given = list(texts)
            for at in range(0, len(given), step) if step else ():
                given[at] += f"\n{chance.choice(items)}"
            what = f"{len(items):,} items, {name}"
            with scratch(arguments.directory) as folder:
                path = folder / "texts.jsonl"
                with path.open("w", encoding="utf-8") as file:
                    file.writelines(
                        json.dumps({"id": at, "text": text}, ensure_ascii=False) + "\n"
                        for at, text in enumerate(given)
                    )
                for kind, data in {"in memory": given, "JSON lines": str(path)}.items():
                    timing = Timing()
                    for _ in range(arguments.repeats):
                        result = measure(
                            partial(simdb.decontaminate, data, against=items, threads=1), timing
                        )
                    rate = size / 1e6 / min(timing.processor)
                    note = f"{len(result.found)} leaks in {result.documents} of {len(given)} texts"
                    record.add(f"{what}, {kind}", rate, "MB/s", timing, note)
            timing = Timing()
            for _ in range(arguments.repeats):
                measure(partial(simdb.decontaminate, [""], against=items, threads=1), timing)
            record.add(f"{what}, items alone", min(timing.processor), "s", timing)


def hostile(record: Record) -> None:
    """Add the cost a word of texts that repeat themselves and are also items."""
    for name, word in HOSTILE.items():
        for size in record.arguments.words:
            chance = Random(record.arguments.seed)
            text, timing = " ".join(word(at, chance) for at in range(size)), Timing()
            run = partial(simdb.decontaminate, [text], against=[text], threads=1)
            found = len(measure(run, timing).found)
            cost = timing.processor[0] / size * 1e9
            record.add(f"{name}, {size:,} words", cost, "ns a word", note=f"found {found}")


QUESTIONS = {"kinds": kinds, "speed": speed, "hostile": hostile}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--ask", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    for name in ("prose", "posts", "languages"):
        parser.add_argument(f"--{name}", nargs="*", default=[], help="files or folders of a set")
    parser.add_argument("--count", type=int, default=12, help="cases of each kind")
    parser.add_argument("--background", type=int, default=1000, help="texts beside the cases")
    parser.add_argument("--show", nargs="*", default=[], help="kinds whose failures are printed")
    parser.add_argument("--texts", nargs="*", default=[], help="files or folders for speed")
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders of the items")
    parser.add_argument("--megabytes", type=float, default=60)
    parser.add_argument("--items", nargs="*", type=number, default=[2_000, 30_000])
    parser.add_argument("--words", nargs="*", type=number, default=[10_000, 40_000, 160_000])
    with recorded(__doc__, parser) as record:
        for name in record.arguments.ask:
            QUESTIONS[name](record)


if __name__ == "__main__":
    main()
