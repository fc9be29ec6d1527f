"""Damage: damages pages of databases before and after opening them, and calls any verb.

Files are not truncated while they are open: the system kills every process that reads a missing
page.  Every step runs in a forked child.  It must end with an answer or an error of
simdb.  Damage before opening must be found by opening or by the deep check, or change no answer.
"""

import os
import random
import shutil
import struct
import time
import warnings
from functools import partial

import simdb
from cases import outcome_of
from simdb.storage.files import DATA_FILE
from specimens import drawn, everything

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_SECONDS = 0.02  # longer than a tick of the system's clock
HANG_SECONDS = 120
OVERFLOW = 4
HEADS_BYTES = 16 + 48  # of LMDB's page, and of the value


def zero_page(random, file, old):
    at = a_page(random, file)
    yield at, bytes(PAGE)


def fill_page(random, file, old):
    yield a_page(random, file), random.randbytes(PAGE)


def old_page(random, file, old):
    changed = [
        at
        for at in range(0, min(len(old), len(file)) - PAGE + 1, PAGE)
        if old[at : at + PAGE] != file[at : at + PAGE]
    ]
    at = random.choice(changed)
    yield at, old[at : at + PAGE]


def flip_bits(random, file, old):
    """Flip some bits of the pages that LMDB reads, or of any page."""
    small = [
        at for at in range(0, len(file), PAGE) if struct.unpack_from("<H", file, at + 10)[0] < 4
    ]
    for _ in range(random.randint(1, 3)):
        start = random.choice(small) if random.random() < 0.7 else a_page(random, file)
        at = start + (random.randrange(64) if random.random() < 0.5 else random.randrange(PAGE))
        yield at, bytes([file[at] ^ 1 << random.randrange(8)])


def swap_pages(random, file, old):
    one, other = a_page(random, file), a_page(random, file)
    yield one, file[other : other + PAGE]
    yield other, file[one : one + PAGE]


def harm_heads(random, file, old):
    """Change the head of a value on pages of its own: its number, kind or count of pages."""
    start = random.choice(heads_of(file))
    offset, form, value = random.choice([
        (0, "<Q", 2), (0, "<Q", random.getrandbits(64)), (10, "<H", 0), (10, "<H", 2),
        (12, "<I", 0), (12, "<I", 1), (12, "<I", 0xFFFFFFFF), (12, "<I", random.getrandbits(12)),
    ])  # fmt: skip
    yield start + offset, struct.pack(form, value)


def harm_metas(random, file, old):
    """Change a number in a meta page, or the whole page."""
    start = random.randrange(2) * PAGE
    if random.random() < 0.2:
        yield start, bytes(PAGE)
    else:
        at = start + random.randrange(0, 152, 8)
        value = random.choice([0, 1, 2, 2**64 - 1, random.getrandbits(8), random.getrandbits(40)])
        yield at, struct.pack("<Q", value)


def harm_words(random, file, old):
    """Change a few words of a page, as a program that overwrites an array would."""
    start = a_page(random, file) + random.randrange(0, PAGE, 8)
    for at in range(start, min(start + 8 * random.randint(1, 4), len(file) - 7), 8):
        yield at, struct.pack("<Q", random.choice([0, 2**64 - 1, random.getrandbits(64)]))


def harm_arrays(random, file, old):
    """Change numbers in the array of a value on pages of its own, but not its header."""
    start = random.choice(heads_of(file))
    (pages,) = struct.unpack_from("<I", file, start + 12)
    stop = min(start + pages * PAGE, len(file))
    for _ in range(random.choice([1, 4, 64])):
        at = random.randrange(start + HEADS_BYTES, stop - 3, 4)
        value = random.choice([0, 1, 2**31, 2**32 - 1, random.getrandbits(32)])
        yield at, struct.pack("<I", value)
    if random.random() < 0.3:
        at = random.randrange(start + HEADS_BYTES, stop - 7, 8)
        length = min(random.choice([64, 512, 40_000]), stop - at)
        yield at, bytes([random.choice([0, 1, 128, 255])]) * length


def heads_of(file):
    """Find where values begin that have pages of their own."""
    return [
        at
        for at in range(2 * PAGE, len(file) - PAGE + 1, PAGE)
        if struct.unpack_from("<QHH", file, at)[::2] == (at // PAGE, OVERFLOW)
    ]


def a_page(random, file):
    return random.randrange(len(file) // PAGE) * PAGE


DAMAGES = [
    zero_page, fill_page, old_page, flip_bits, swap_pages, harm_heads, harm_metas, harm_words,
    harm_arrays,
]  # fmt: skip


def ask_one(database, specimen, scratch):
    for document in specimen.asked:
        database.query(document, **specimen.criterion)


def insert_one(database, specimen, scratch):
    database.insert("fresh", specimen.fresh(1)[0], {"fresh": True})
    database.query(specimen.asked[0], **specimen.criterion)


def insert_many(database, specimen, scratch):
    """Insert enough to seal and merge runs, with metadata on pages of its own."""
    for at in range(3):
        ids = [f"fresh {at} {number}" for number in range(60)]
        database.insert_many(ids, specimen.fresh(60), ["y" * 300] * 60)
    list(database)


def insert_batch(database, specimen, scratch):
    ids = [f"batch {at}" for at in range(40)]
    database.insert_batch(ids, specimen.fresh(40), **specimen.criterion)


def calibrate(database, specimen, scratch):
    if specimen.name != "signatures":
        database.calibrate(10)


VERBS = {
    "open": lambda database, *_: (len(database), 10 in database),
    "query": ask_one,
    "query_many": lambda database, specimen, _: list(
        database.query_many(specimen.asked, **specimen.criterion)
    ),
    "find_all": lambda database, specimen, _: list(database.find_all(**specimen.criterion)),
    "find_clusters": lambda database, specimen, _: database.find_clusters(**specimen.criterion),
    "cluster": lambda database, *_: database.cluster(10),
    "get": lambda database, *_: [database.get(id) for id in (10, 100, "long", "delta 1")],
    "texts_many": lambda database, *_: database.texts_many([10, 100, "long", "delta 1"]),
    "iter": lambda database, *_: list(database),
    "insert": insert_one,
    "insert_many": insert_many,
    "insert_batch": insert_batch,
    "add_if_new": lambda database, specimen, _: database.add_if_new(
        "new", specimen.fresh(1)[0], **specimen.criterion
    ),
    "delete": lambda database, *_: (database.delete(10), database.delete_many(range(11, 60))),
    "compact": lambda database, *_: database.compact(),
    "rebuild": lambda database, *_: database.rebuild(),
    "rebuild dropping": lambda database, *_: database.rebuild(drop_damaged=True),
    "dump": lambda database, _, scratch: database.dump(os.path.join(scratch, "dump")),
    "copy": lambda database, _, scratch: database.copy(os.path.join(scratch, "copy")),
    "check": lambda database, *_: list(database.check()),
    "check deep": lambda database, *_: list(database.check(deep=True)),
    "calibrate": calibrate,
    "stats": lambda database, *_: database.stats(),
    "advice": lambda database, *_: list(database.advice()),
    "explain": lambda database, specimen, _: (
        database.explain(10, document=specimen.asked[0]), database.explain(10, 11),
    ),
}  # fmt: skip


def survived(action):
    """Call `action` in a child; an error of simdb is an answer, too.  Return what it returned."""

    def guarded():
        try:
            return action()
        except simdb.Error:
            return None

    return outcome_of(guarded, HANG_SECONDS).get()


def write(path, changes):
    """Make the changes in the data file of a database; a change without content truncates it."""
    descriptor = os.open(os.path.join(path, DATA_FILE), os.O_WRONLY)
    for at, content in changes:
        if content is None:
            os.ftruncate(descriptor, at)
        else:
            os.pwrite(descriptor, content, at)
    os.close(descriptor)


def damage_then_ask(path, specimen, scratch, verb, changes):
    write(path, changes)
    with simdb.open(path, "w", durability="none") as database:
        VERBS[verb](database, specimen, scratch)


def ask_then_damage(path, specimen, scratch, verb, changes, is_warm):
    with simdb.open(path, "w", durability="none") as database:
        if is_warm:
            ask_one(database, specimen, scratch)
            database.get(10)
        time.sleep(TICK_SECONDS)
        write(path, changes)
        VERBS[verb](database, specimen, scratch)


def look_for_silence(path, specimen, expected):
    """Check that damage which the deep check does not find changes no answer."""
    with simdb.open(path, "r") as database:
        if list(database.check(deep=True)):
            return
        try:
            answer = everything(database, specimen)
        except simdb.Error as error:
            raise AssertionError("the deep check did not find it") from error
    assert answer == expected, "a wrong answer, and no finding"


def answers(specimen):
    with simdb.open(specimen.path, "r") as database:
        assert list(database.check(deep=True)) == []
        return everything(database, specimen)


def copies(case):
    """Draw a specimen; yield (number, draws, specimen, path of a copy of it) for each step."""
    warnings.simplefilter("ignore")
    specimen = drawn(random.Random(case.seed), case.folder)
    case.note(specimen.name)
    path = case.folder / "damaged" / "database"
    for number in range(case.steps):
        restore(specimen, path)
        yield number, random.Random(f"{case.seed} {number}"), specimen, path


def run(case):
    """Damage one database again and again."""
    expected = None
    for number, chance, specimen, path in copies(case):
        expected = expected or outcome_of(partial(answers, specimen), HANG_SECONDS).get()
        harm, verb = chance.choice(DAMAGES), chance.choice(list(VERBS))
        when = chance.choice(["before", "after", "after, warm"])
        changes = list(harm(chance, specimen.new, specimen.old))
        if when == "before" and chance.random() < 0.1:
            changes = [(chance.randrange(len(specimen.new)), None)]
        case.step(number, harm.__name__)
        case.note(f"    {when} opening, {verb}, from {changes[0][0] if changes else 'nowhere'} on")
        given = path, specimen, path.parent, verb, changes
        if when != "before":
            survived(partial(ask_then_damage, *given, when != "after"))
            continue
        survived(partial(damage_then_ask, *given))
        if chance.random() < 0.5:
            restore(specimen, path)
            write(path, changes)
            survived(partial(look_for_silence, path, specimen, expected))


def restore(specimen, path):
    """Put a sound copy of the specimen into an empty folder."""
    shutil.rmtree(path.parent, ignore_errors=True)
    shutil.copytree(specimen.path, path)
