"""Damage pages of databases at random, before and after they are opened, and call every verb.

    python tools/torture/damage.py --trials 3000 --seed 1

Files that are truncated while they are open are left out: the system ends every process that reads
a missing page.  Every trial runs in a forked child.  It must end with an answer or an error of
simdb.  Damage before opening must be found by opening or by the deep check, or change no answer.
A failure is printed with its number; --only runs that trial again, alone.
"""

import math
import os
import random
import shutil
import struct
import sys
import tempfile
import time
import warnings
from contextlib import suppress

import simdb
from simdb.storage.files import DATA_FILE
from specimens import everything, make_all
from trials import collected, outcome_of, report

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_SECONDS = 0.02  # longer than a tick of the system's clock
HANG_SECONDS = 120
OVERFLOW = 4
HEADS_BYTES = 16 + 48  # of LMDB's page, and of the value
FINE = ("ok", "error")


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


def forked(action):
    """Run `action()` in a child; return (outcome, message).

    The outcome is "ok", "error" (an error of simdb), OTHER (another exception, a signal or a hang),
    or what `action` returns.
    """

    def guarded():
        try:
            return action() or ("ok", "")
        except simdb.Error as error:
            return "error", f"{type(error).__name__}: {error}"

    ended = outcome_of(guarded, HANG_SECONDS)
    return ("OTHER", ended.error) if ended.error else ended.value


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
            return None
        try:
            answer = everything(database, specimen)
        except simdb.Error as error:
            return "SILENT", f"the deep check did not find what gave {error!r}"
    return None if answer == expected else ("SILENT", "a wrong answer, and no finding")


def trial(number, seed, specimens, expected, scratch, how):
    """Run the trial of this number; return a title, how it ended, and what was wrong."""
    chance = random.Random(f"{seed} {number}")
    specimen = chance.choice(specimens)
    verb = chance.choice(list(VERBS))
    harm = chance.choice([each for each in DAMAGES if how in (None, name_of(each))])
    when = chance.choice(["before", "after", "after, warm"])
    changes = list(harm(chance, specimen.new, specimen.old))
    path = os.path.join(scratch, "database")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(specimen.path, path)
    is_cut = when == "before" and chance.random() < 0.1
    if is_cut:
        changes = [(chance.randrange(len(specimen.new)), None)]
    if when == "before":
        outcome = forked(lambda: damage_then_ask(path, specimen, scratch, verb, changes))
        if outcome[0] in FINE and chance.random() < 0.5:
            shutil.rmtree(path)
            shutil.copytree(specimen.path, path)
            write(path, changes)
            silence = forked(lambda: look_for_silence(path, specimen, expected[specimen.name]))
            outcome = outcome if silence[0] in FINE else silence
    else:
        is_warm = when != "after"
        outcome = forked(lambda: ask_then_damage(path, specimen, scratch, verb, changes, is_warm))
    kind = "truncated" if is_cut else name_of(harm)
    title = f"trial {number}, {when}: {kind}, {verb} ({specimen.name}): {outcome[0]}"
    wrong = [] if outcome[0] in FINE else [outcome[1]]
    return title, [f"{when}, {kind}: {outcome[0]}"], wrong


def name_of(harm):
    return harm.__name__.replace("_", " ")


def campaign(trials, seed, *, seconds=math.inf, only=None, how=None, directory=None):
    """Run every trial; yield its title, how it ended, and what was wrong."""
    warnings.simplefilter("ignore")
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="simdb-damage-", dir=directory) as scratch:
        specimens = make_all(os.path.join(scratch, "specimens"))
        expected = {}
        for specimen in specimens:
            with simdb.open(specimen.path, "r") as database:
                assert list(database.check(deep=True)) == []
                expected[specimen.name] = everything(database, specimen)
        for number in range(trials) if only is None else [only]:
            if time.monotonic() > deadline:
                return
            yield trial(number, seed, specimens, expected, os.path.join(scratch, "trial"), how)


def options(parser):
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after these")
    parser.add_argument("--how", help="only this kind of damage, named as in a title")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run only this trial")


def run(given):
    asked = {name: value for name, value in vars(given).items() if name != "json"}
    return collected(campaign(**asked), is_quiet=given.json)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(report(__doc__, options, run))
