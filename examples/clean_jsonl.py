"""Write the records of a file of JSON lines without near-duplicates.

    python clean_jsonl.py articles.jsonl clean.jsonl

Two records are duplicates if the exact Jaccard similarity of their sequences of three words is at
least 0.8.  The longest record of each group survives.
"""

import json
import sys

import simdb


def main(source, target):
    """Read all records and write the survivors in the same order."""
    with open(source, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]

    result = simdb.deduplicate(records, id="id", keep="longest")

    with open(target, "w", encoding="utf-8") as file:
        for record in result.data:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    print(f"{len(records)} records, {len(result.data)} kept")
    for group in result.groups[:3]:
        print("one group:", ", ".join(group.ids))


if __name__ == "__main__":
    main(*sys.argv[1:])
