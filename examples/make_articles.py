"""Write articles.jsonl and tomorrow.jsonl: invented news, some of it nearly the same.

    python make_articles.py

Agencies send one story to many papers, which change a word, a number or the end.
"""

import json
import random

PLACES = ["Harwick", "Penby", "Tarnholm", "Ostrand", "Millbrook", "Corvane", "Kelsing"]
SUBJECTS = [
    "the stone bridge over the river", "the old library in the square", "the night train",
    "the school at the edge of the forest", "the harbour wall", "the weekly market",
]  # fmt: skip
VERBS = ["repair", "close", "enlarge", "sell", "paint", "reopen", "insure", "measure"]
REASONS = [
    "because the cost has doubled since spring", "although the mayor had promised otherwise",
    "while engineers study what lies beneath it", "before the new law takes effect in autumn",
]  # fmt: skip
VOICES = ["a teacher", "the owner of a bakery", "two fishermen", "a retired judge", "the librarian"]
WORDS = "nobody asked us", "it was about time", "we shall see", "the children will be glad"


def story(chance):
    """Make the text of a new story."""
    place, subject = chance.choice(PLACES), chance.choice(SUBJECTS)
    lines = [f"The council of {place} decided to {chance.choice(VERBS)} {subject}."]
    for _ in range(6):
        voice = f"{chance.choice(VOICES).capitalize()} from {chance.choice(PLACES)}"
        lines.append(f"{voice} said that {chance.choice(WORDS)}, {chance.choice(REASONS)}.")
        days, workers = chance.randrange(2, 900), chance.randrange(9, 999)
        lines.append(f"It will take {days} days and {workers} workers.")
    return " ".join(lines)


def edited(text, chance):
    """Make the story of another paper: one word is added, or a credit follows."""
    return f"{text} (Agency)" if chance.random() < 0.5 else text.replace("days", "long days", 1)


def main():
    """Write both files, the same in every run."""
    chance = random.Random(7)
    texts = [story(chance) for _ in range(900)]
    rows = texts + [edited(text, chance) for text in texts[:100]]
    write("articles.jsonl", rows, "day1")
    news = [story(chance) for _ in range(150)]
    write("tomorrow.jsonl", news + [edited(text, chance) for text in texts[200:250]], "day2")


def write(name, texts, day):
    """Write one record on each line."""
    with open(name, "w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"{day}-{number}", "text": text}) + "\n")


if __name__ == "__main__":
    main()
