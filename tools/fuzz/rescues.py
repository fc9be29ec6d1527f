"""Rescues: damages one page of a database, and rebuilds the database without damaged values.

After each rebuild, the deep check must find nothing.  No deleted or unknown document may be stored,
every remaining document must be unchanged, and the report must count the lost ones.  An older page
in the place of a newer one can be a sound, older state; then only the deep check applies.
"""

import os
from functools import partial

import simdb
from cases import outcome_of
from damage import DAMAGES, HANG_SECONDS, PAGE, copies, old_page, swap_pages, write
from simdb.storage.files import IDF_FILE

ONE_PAGE = [each for each in DAMAGES if each is not swap_pages]
IDF_SHARE = 0.3  # share of the steps with an IDF table that damage its file


def stored(path):
    """Return the content of a database by id."""
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


def rescued(path, expected, document, is_old, harms_idf):
    """Rebuild a damaged database; return its state before, and what is wrong afterwards.

    `document`: one to insert.
    """
    opened = "opened" if opens(path) else "refused to open"
    told = simdb.rebuild(path, drop_damaged=True)
    wrong = []
    with simdb.open(path, "w") as database:
        findings = list(database.check(deep=True))
        wrong += [f"still found: {each.place}: {each.message}" for each in findings]
        if not harms_idf:
            database.insert("a new one", document)
            database.query(document)
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


def run(case):
    """Damage one database again and again, and rebuild it each time."""
    known = None
    for number, chance, specimen, path in copies(case):
        known = known or outcome_of(partial(stored, specimen.path), HANG_SECONDS).get()
        harms_idf = specimen.name == "idf" and chance.random() < IDF_SHARE
        harm = chance.choice(ONE_PAGE)
        case.step(number, "IDF table" if harms_idf else harm.__name__)
        if harms_idf:
            harm_idf(chance, path / IDF_FILE)
        else:
            changes = list(harm(chance, specimen.new, specimen.old))
            page = changes[0][0] // PAGE
            case.note(f"    page {page}")
            write(path, [each for each in changes if each[0] // PAGE == page])
        is_old = harm is old_page and not harms_idf
        given = path, known, specimen.asked[0], is_old, harms_idf
        kinds, wrong = outcome_of(partial(rescued, *given), HANG_SECONDS).get()
        case.counts.update(kinds)
        assert wrong == []


def harm_idf(chance, path):
    """Overwrite a page of the file of an IDF table."""
    size = os.path.getsize(path)
    at = chance.randrange(0, size, PAGE)
    with open(path, "r+b") as table:
        table.seek(at)
        table.write(chance.choice([bytes, chance.randbytes])(min(PAGE, size - at)))
