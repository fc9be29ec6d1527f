"""Damage one page of a database, rebuild it without what is damaged, and compare what is left.

    python tools/torture/rescues.py --trials 1000 --seed 1

After each rebuild the deep check must find nothing, no deleted or unknown document may be there,
every document that is left must be as it was, and the report must count the lost ones.  An older
page in the place of a newer one can be a sound, older state; then only the first of these is asked.
"""

import math
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import suppress

import simdb
from damage import (
    PAGE,
    fill_page,
    flip_bits,
    forked,
    harm_arrays,
    harm_heads,
    harm_metas,
    harm_words,
    name_of,
    old_page,
    write,
    zero_page,
)
from simdb.plan import compaction
from simdb.storage.files import IDF_FILE
from specimens import bits, make, make_all, texts
from trials import collected, report

ONE_PAGE = [
    zero_page, fill_page, old_page, flip_bits, harm_heads, harm_metas, harm_words, harm_arrays,
]  # fmt: skip
IDF_SHARE = 0.3  # of the trials with an IDF table, those that damage its file


def specimens_in(directory):
    """Make the databases of damage.py, and others that differ in what their files hold."""
    plain = simdb.Simhash(shingle=1)
    most = compaction.AT_ONCE_DELTAS, compaction.PACE
    yield from make_all(directory)
    for name, count, documents, options in (
        ("delta only", 150, texts, simdb.Options(sketch=plain)),
        ("times", 150, texts, simdb.Options(sketch=plain, keep_times="inserted")),
        ("similar clusters", 150, texts, simdb.Options(sketch=plain, keep_clusters="similarity")),
        ("many documents", 900, texts, simdb.Options(sketch=plain, features=True)),
        ("many bits", 3000, bits, simdb.Options(delta_documents=500)),
    ):
        yield make(directory, name, options, documents, count, {})
    compaction.AT_ONCE_DELTAS, compaction.PACE = 1, 1
    try:
        tiny = simdb.Options(sketch=plain, delta_documents=30, growth=2)
        yield make(directory, "unfinished merge", tiny, texts, 150, {})
    finally:
        compaction.AT_ONCE_DELTAS, compaction.PACE = most


def stored(path):
    """Return what a database says of each document, by its id."""
    with simdb.open(path, "r") as database:
        ids = list(database)
        return {
            id: (found.fingerprint, found.metadata)
            for id, found in zip(ids, database.get_many(ids), strict=True)
        }


def opens(path):
    try:
        simdb.open(path, "r").close()
    except simdb.Error:
        return False
    return True


def rescued(path, expected, is_old, harms_idf):
    """Rebuild a damaged database; return how it was, and what is wrong afterwards."""
    opened = "opened" if opens(path) else "refused to open"
    told = simdb.rebuild(path, drop_damaged=True)
    wrong = []
    with simdb.open(path, "w") as database:
        findings = list(database.check(deep=True))
        wrong += [f"still found: {each.place}: {each.message}" for each in findings]
        if not harms_idf:
            database.insert("a new one", "red green blue")
            database.query("red green blue")
            database.delete("a new one")
    left = stored(path)
    kinds = [opened, "lost documents" if told.lost_count else "lost no document"]
    if is_old or findings:
        return kinds, wrong
    lost, alien = expected.keys() - left.keys(), left.keys() - expected.keys()
    if alien:
        wrong.append(f"documents came back: {sorted(map(str, alien))[:5]}")
    if len(lost) != told.lost_count:
        wrong.append(f"{len(lost)} documents are lost, but the report says {told}")
    if lost and not told.losses[0].startswith(f"{len(lost):,} document"):
        wrong.append(f"the first sentence is {told.losses[0]}")
    if not set(told.dropped) <= expected.keys() and "deleted" not in str(told.losses):
        wrong.append(f"dropped documents that were not there: {told.dropped}")
    changed = [id for id, each in left.items() if each[0] != expected.get(id, each)[0]]
    bare = [id for id, each in left.items() if each[1] != expected.get(id, each)[1]]
    if changed:
        wrong.append(f"other fingerprints: {changed[:5]}")
    if bare and not any(word in str(told) for word in ("metadata", "older", "last commit")):
        wrong.append(f"other metadata, and nothing says so: {bare[:5]}: {told}")
    return kinds, wrong


def trial(number, seed, specimens, expected, scratch):
    """Run the trial of this number; return a title, how it ended, and what was wrong."""
    chance = random.Random(f"{seed} {number}")
    specimen = chance.choice(specimens)
    path = os.path.join(scratch, "database")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(specimen.path, path)
    harms_idf = specimen.name == "idf" and chance.random() < IDF_SHARE
    harm = chance.choice(ONE_PAGE)
    if harms_idf:
        file = os.path.join(path, IDF_FILE)
        size = os.path.getsize(file)
        at = chance.randrange(0, size, PAGE)
        with open(file, "r+b") as table:
            table.seek(at)
            table.write(chance.choice([bytes, chance.randbytes])(min(PAGE, size - at)))
        kind = "IDF table"
    else:
        changes = list(harm(chance, specimen.new, specimen.old))
        at, kind = changes[0][0], name_of(harm)
        page = at // PAGE
        write(path, [each for each in changes if each[0] // PAGE == page])
    is_old = kind == "old page"
    known = expected[specimen.name]
    outcome = forked(lambda: rescued(path, known, is_old, harms_idf))
    title = f"trial {number}: {kind} at {at} ({specimen.name})"
    if isinstance(outcome[0], list):
        return title, outcome[0], outcome[1]
    return title, [outcome[0]], [outcome[1]]


def campaign(trials, seed, *, seconds=math.inf, only=None, directory=None):
    """Run every trial; yield its title, how it ended, and what was wrong."""
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="simdb-rescues-", dir=directory) as scratch:
        specimens = list(specimens_in(os.path.join(scratch, "specimens")))
        expected = {each.name: stored(each.path) for each in specimens}
        for number in range(trials) if only is None else [only]:
            if time.monotonic() > deadline:
                return
            yield trial(number, seed, specimens, expected, os.path.join(scratch, "trial"))


def options(parser):
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after these")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run only this trial")


def run(given):
    asked = {name: value for name, value in vars(given).items() if name != "json"}
    return collected(campaign(**asked), is_quiet=given.json)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(report(__doc__, options, run))
