"""What is a leak and what is none: the item changed in the ways in which copies differ."""

import re

import pytest
from over import over

import simdb

ITEM = (
    "Before the first snow the baker carried nineteen sacks of rye up the narrow stair of the tower"
    " while his daughter counted the bells, and neither of them noticed that the river had already"
    " begun to freeze along the old mill wall."
)
QUESTION = (
    "A spring of steel is pressed together by a weight and held in oil for a week before the weight"
    " is taken away. Say whether the spring is as long as it was, and give the reason in one line."
)
PROBLEM = (
    "Jonas packs 12 crates of pears with 35 pears in each and 8 baskets of plums with 60 plums in"
    " each. He loads them on a cart that bears 950 kilograms. How many pieces of fruit are on it?"
)
SHORT = "who painted the northern gate"
BEFORE = "The map of the province was drawn by two brothers who had never left their own valley. "
AFTER = " It hung for a century in the hall where the taxes were paid, and then it was sold."
WORDS = ITEM.split()
TEMPLATE = "Which plant gives the soup of the inn at {} its bitter taste and its colour?"
TOWNS = ["Ardesk", "Bolvik", "Castrane", "Dunhelm", "Erfjord"]
PASSAGE = (
    "When the salt road was closed the merchants of the upper town kept their carts in the church,"
    " paid the guards with cloth instead of coin, and sent a boy each morning to ask whether the"
    " pass was open, until the judge forbade it. "
)


def inside(text):
    return BEFORE + text + AFTER


def changed(words, each, change):
    """Change each so many words by `change`, which returns the words in its place."""
    return " ".join(
        change(word) if at % each == each - 1 else word for at, word in enumerate(words)
    )


CHINESE = "".join(map(chr, range(0x5B50, 0x5B50 + 40)))  # each character is a word
FOUND = {
    "as it is": (ITEM, inside(ITEM)),
    "alone": (ITEM, ITEM),
    "in capitals": (ITEM, inside(ITEM.upper())),
    "other punctuation": (ITEM, inside(re.sub(r"[,.]", " --", ITEM))),
    "each tenth word another": (ITEM, inside(changed(WORDS, 10, lambda _: "quartz"))),
    "each sixth word another": (ITEM, inside(changed(WORDS, 6, lambda word: f"x{word}"))),
    "a word put in after each eighth": (
        ITEM, inside(changed(WORDS, 8, lambda word: f"{word} quartz")),
    ),
    "a word left out of eight": (ITEM, inside(changed(WORDS, 8, lambda _: ""))),
    "tags around each fourth word": (
        QUESTION, f"<p>{changed(QUESTION.split(), 4, lambda word: f'<b class=x>{word}</b>')}</p>",
    ),
    "a comment in each line": (ITEM, changed(WORDS, 6, lambda word: f"{word} <!-- a note -->")),
    "entities for spaces": (ITEM, inside(ITEM.replace(" of ", "&nbsp;of&#32;"))),
    "commands of LaTeX": (
        ITEM, "\\begin{it}" + changed(WORDS, 4, lambda word: f"\\emph{{{word}}}") + "\\end{it}",
    ),
    "links in Markdown": (
        ITEM, changed(WORDS, 5, lambda word: f"[{word}](https://example.org/wiki/{word}#top)"),
    ),
    "lines with numbers": (
        ITEM,
        "\n".join(f"{at} {' '.join(WORDS[at : at + 6])}" for at in range(0, len(WORDS), 6)),
    ),
    "ten words put in": (
        ITEM,
        inside(ITEM.replace(" tower", " tower (so at least the sexton of that parish told us)")),
    ),
    "the halves the other way round": (ITEM, inside(" ".join(WORDS[20:] + WORDS[:20]))),
    "two thirds": (ITEM, inside(" ".join(WORDS[:27]))),
    "numbers with commas": (PROBLEM.replace("950", "12950"), PROBLEM.replace("950", "12,950")),
    "a word of a problem another": (PROBLEM, inside(PROBLEM.replace("crates", "boxes"))),
    "few words": (SHORT, f"They asked: {SHORT}? Nobody knew."),
    "fourteen words, one another": (
        " ".join(WORDS[:14]), inside(" ".join([*WORDS[:9], "barley", *WORDS[10:14]])),
    ),
    "three characters of Chinese others": (
        CHINESE, "\u4ed6\u8bf4 " + CHINESE.translate({0x5B50 + at: "\u77f3" for at in (8, 17, 29)}),
    ),
    "the item of a template itself": (
        TEMPLATE.format(TOWNS[0]), f"Exam. {TEMPLATE.format(TOWNS[0])}",
        *map(TEMPLATE.format, TOWNS[1:]),
    ),
    "a passage with its own question": (
        PASSAGE + "Why did nobody pay the guards in silver that year?",
        inside(PASSAGE + "Why did nobody pay the guards in silver that year?"),
        PASSAGE + "Who asked about the pass?", PASSAGE + "Where did the carts stand at night?",
    ),
}  # fmt: skip
OTHER = {
    "other numbers": (
        PROBLEM,
        inside(re.sub(r"\d+", lambda each: str(3 * int(each[0]) + 1), PROBLEM)),
    ),
    "a third of it": (f"{ITEM} {QUESTION}", inside(" ".join(WORDS[:20]))),
    "one of few words another": (SHORT, f"They asked: {SHORT.replace('northern', 'golden')}?"),
    "its words by the alphabet": (ITEM, inside(" ".join(sorted(WORDS)))),
    "another of the template": (
        TEMPLATE.format(TOWNS[0]), f"Exam. {TEMPLATE.format('Vikholm')}",
        *map(TEMPLATE.format, TOWNS[1:]),
    ),
    "a passage without its question": (
        PASSAGE + "Why did nobody pay the guards in silver that year?",
        inside(PASSAGE),
        PASSAGE + "Who asked about the pass?", PASSAGE + "Where did the carts stand at night?",
    ),
    "each fourth word another": (ITEM, inside(changed(WORDS, 4, lambda word: f"x{word}"))),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOUND)
def test_a_copy_is_found_however_it_is_changed(kind):
    item, text, *others = FOUND[kind]

    found = simdb.decontaminate([BEFORE, text], against=[item, *others])

    assert (1, 0) in {(leak.id, leak.item) for leak in found.found}
    assert {leak.id for leak in found.found} == {1}


@pytest.mark.parametrize("kind", OTHER)
def test_another_text_is_no_copy(kind):
    item, text, *others = OTHER[kind]

    found = simdb.decontaminate([BEFORE, text], against=[item, *others])

    assert 0 not in {leak.item for leak in found.found}


def test_any_number_will_do_if_that_is_asked_for():
    item, text = OTHER["other numbers"]

    found = simdb.decontaminate([text], against=[item], numbers="any")

    assert found.leaked == [0]


@pytest.mark.parametrize(
    ("count", "same", "is_leak"), [(50, 2, False), (51, 2, True), (50, 3, True), (49, 2, False)]
)
def test_other_numbers_count_from_one_in_25_words_and_as_many_as_equal_ones(count, same, is_leak):
    words = [f"word{at}" for at in range(count)]
    for at in range(2 + same):
        words[7 + 8 * at] = f"{at}1"
    changed = [f"{word}9" if word in ("01", "11") else word for word in words]

    found = simdb.decontaminate([" ".join(changed)], against=[" ".join(words)])

    assert bool(found.found) == is_leak


def test_a_leak_names_what_was_changed():
    text = inside(ITEM.replace("nineteen", "forty fat").replace("already ", "").replace(",", ";"))

    (leak,) = simdb.decontaminate([text], against=[ITEM]).found

    assert leak.changed == (("forty fat", "nineteen"), ("", "already"))
    assert leak.text == text[len(BEFORE) : -len(AFTER) - 1]
    assert leak.row["changed"] == [["forty fat", "nineteen"], ["", "already"]]


def test_what_is_cut_out_has_the_markup_inside_of_it():
    text = inside(changed(WORDS, 8, lambda word: f"<b>1,234</b> {word}"))

    found = simdb.decontaminate([text], against=[ITEM], action="cut")

    assert found.data == [BEFORE + "." + AFTER]


def test_every_copy_in_a_document_is_cut_out():
    other = ITEM.replace("nineteen", "ninety")
    far = " ".join(f"word{at}" for at in range(300))

    found = simdb.decontaminate(
        [f"{ITEM} {far} {other} {far} {ITEM}"], against=[ITEM], action="cut"
    )

    (leak,) = found.found
    assert len(leak.spans) == 3
    assert leak.coverage == 1.0
    assert found.data[0].replace(".", "").split() == [*far.split(), *far.split()]
    assert simdb.decontaminate(found.data, against=[ITEM]).found == []


@pytest.mark.parametrize("zero", [0x30, 0x660, 0x966, 0xE50, 0xA620, 0xFF10])
def test_numbers_may_have_the_digits_of_any_script(zero):
    one, other = (
        re.sub(r"\d", lambda each: chr(zero + int(each[0])), text)
        for text in (PROBLEM, OTHER["other numbers"][1])
    )

    assert simdb.decontaminate([inside(one)], against=[one]).leaked == [0]
    assert simdb.decontaminate([other], against=[one]).leaked == []


def test_items_of_which_many_have_every_run_are_counted():
    items = [f"the same words in all of these items {' '.join(['here'] * at)}" for at in range(12)]

    found = simdb.decontaminate(["the same words in all of these items"], against=items)

    assert (found.found, found.common) == ([], 2)
    assert "2 like many others not looked for" in repr(found)


@over(
    ("text", "wanted"),
    [
        ("a <b>c</b> d", "a    c     d"), ("1 < 2 > 1", "1 < 2 > 1"), ("<!-- <x> -->", " " * 12),
        ("<!-- open", "<!-- open"), ("<3", "<3"), ("</p>", "    "), ("<a\n>", "    "),
        ("<a" + "b" * 299 + ">", " " * 302), ("<a" + "b" * 300 + ">", "<a" + "b" * 300 + ">"),
        (r"\emph{x} \section*{y}", "     {x}          {y}"), (r"\begin{it} \end{it}", " " * 19),
        (r"a\nB\tau\rX\nu", "a  B      X   "), (r"\\ \1", r"\\ \1"),
        ("[a](http://x/y)b", "[a" + " " * 13 + "b"), ("](a b)", "](a b)"),
        ("](a(b)", "](a(b)"), ("a&amp;b&#10;c&#x1f;", "a     b     c      "), ("&T; &x", "&T; &x"),
        ("1,234,567.1,23", "1234567.1,23"), ("1,2345 ,234", "1,2345 ,234"), ("", ""),
        ("\u6570<b>\U0001f600&lt;", "\u6570   \U0001f600    "), ("\xe9<i>", "\xe9   "),
    ],
)  # fmt: skip
def test_markup_becomes_spaces(text, wanted):
    plain, is_dropped = simdb.core.kernel.without_markup(text)

    assert plain == wanted
    assert len(is_dropped) == len(text)
    assert len(plain) == len(text) - is_dropped.sum()
    assert {text[at] for at in is_dropped.nonzero()[0]} <= {","}


def test_markup_is_found_wherever_it_is():
    text, wanted = "a<b>c&lt;1,234[x](y)\\em z", "a   c    1234[x" + " " * 8 + "z"
    for beside in ("x ", "\u6570 ", "\U0001f600 "):
        for before in range(40):
            for after in (0, 1, 40):
                first, last = beside * before, " " + beside * after

                plain, _ = simdb.core.kernel.without_markup(first + text + last)

                assert plain == first + wanted + last
