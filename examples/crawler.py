"""Store each page of a crawl once, even if it comes again from a mirror or next week.

    python crawler.py pages.simdb

The pages here are invented; a crawler would fetch them.
"""

import sys

import simdb

STORY = (
    "The town of Penby has found a third way to bake bread, which needs neither salt nor an oven"
)
PAGES = [
    ("http://penby.example/bread", STORY + "."),
    ("http://mirror.example/bread", STORY + ", says a mirror."),
    (
        "http://penby.example/ships",
        "Ninety ships wait in the harbour of Penby for the tide to turn.",
    ),
    ("http://penby.example/bread", STORY + "."),
    (
        "http://penby.example/ships",
        "The ships of Penby have left; all but three sail to the north.",
    ),
]


def main(path):
    """Claim each page in turn; with "replace" a changed page is stored again."""
    with simdb.open(path) as database:
        for address, text in PAGES:
            match = database.add_if_new(address, text, on_conflict="replace", similarity=0.8)
            if match is None:
                print("stored ", address)
            else:
                print("skipped", address, "- like", match.id)
        print(len(database), "pages in", database.path)


if __name__ == "__main__":
    main(*sys.argv[1:])
