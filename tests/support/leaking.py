"""Leaking: draws items, and documents that repeat some of their words."""

from hypothesis import strategies as st

# Words of several scripts; between words of the last three there are no spaces.
WORDS = (
    [f"w{at}" for at in range(8)]
    + ["\u0434\u043e\u043c", "\u0645\u062f\u0631\u0633\u0629", "\u0928\u092e", "stra\u00dfe"]
    + ["\u6570", "\u636e", "\u30ab"]
)
LEAST_WORDS = 5  # words of an item


@st.composite
def documents(draw, most=6, most_words=30):
    """Draw documents as lists of words, of which some repeat a run of words of another."""
    made = draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=most_words), max_size=most))
    for at in range(1, len(made)):
        if draw(st.booleans()):
            other = made[draw(st.integers(0, at - 1))]
            start = draw(st.integers(0, len(other)))
            stop = draw(st.integers(start, len(other)))
            place = draw(st.integers(0, len(made[at])))
            made[at][place:place] = other[start:stop]
    return made


NUMBERS = ["7", "40", "12a"]


@st.composite
def edited_documents(draw, most=6):
    """Draw documents, some of which repeat a part of another one with some words changed."""
    made = draw(documents(most=most, most_words=25))
    word = st.sampled_from(WORDS + NUMBERS)
    for own in made:
        for _ in range(draw(st.integers(0, 4))):
            place = draw(st.integers(0, len(own)))
            own[place : place + draw(st.integers(0, 2))] = draw(st.lists(word, max_size=3))
    return made


def changed_copies(chance):
    """Draw documents with copies of parts of items, of which words were changed, and the items."""
    words = WORDS + NUMBERS + [f"x{at}" for at in range(chance.choice([0, 5, 80]))]
    items = [
        chance.choices(words, k=chance.choice([5, 6, 7, 8, 9, 10, 11, 12, 14, 25, 30, 50]))
        for _ in range(chance.randint(1, 5))
    ]
    for _ in range(chance.choice([0, 0, 1, 3])):  # a family
        items.append(list(chance.choice(items)))
        items[-1][chance.randrange(len(items[-1]))] = chance.choice(words)
    shared = chance.choice(items)[: chance.randint(5, 40)]  # shared by many documents
    if chance.random() < 0.3:
        items.append([words[0]] * 12 + chance.choices(words, k=6))
    made = []
    for _ in range(chance.randint(2, 7)):
        own = chance.choices(words, k=chance.randint(0, 20))
        own += shared if chance.random() < 0.5 else []
        for _ in range(chance.choice([1, 1, 2])):
            copy = list(chance.choice(items))
            copy = copy[
                chance.randint(0, len(copy) // 4) : len(copy) - chance.randint(0, len(copy) // 4)
            ]
            for _ in range(chance.choice([0, 1, 2, 4, 6])):
                place = chance.randint(0, len(copy))
                many = chance.choice([1, 1, 2, 12])
                copy[place : place + chance.randint(0, 2)] = chance.choices(
                    words, k=chance.randint(0, many)
                )
            own += copy + chance.choices(words, k=chance.choice([0, 5, 90]))
        made.append(own)
    return made, items


def text_of(words):
    return " ".join(words)
