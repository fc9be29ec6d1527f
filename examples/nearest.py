"""Answer with the stored sentences that are most similar to a question.

    python nearest.py "how do I copy a database while others write"

Single words are compared, not shingles, because the texts are short.
"""

import sys

import simdb

SENTENCES = {
    "copy": "copy a database to a new directory while other processes write",
    "delete": "delete documents by their id, their metadata or their age",
    "nearest": "find the nearest documents however similar they are",
    "dump": "write everything in a database to one portable file",
    "processes": "several processes read and write one database",
}


def main(question):
    """Store the sentences in a temporary database, and print the three nearest."""
    options = simdb.Options(sketch=simdb.Simhash(shingle=1))
    with simdb.open(None, options=options) as database:
        database.insert_many(SENTENCES.keys(), SENTENCES.values())
        for match in database.nearest(question, 3):
            print(f"{match.similarity:5.2f}  {match.id:10} {SENTENCES[match.id]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
