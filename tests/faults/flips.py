"""Flips: one flipped bit after the other in a data file, and what forked children then find."""

import json
import mmap
import os
import shutil
import struct

import numpy as np

import simdb

QUERIES = [number << 9 for number in range(0, 300, 11)]
PAGE_BYTES = mmap.PAGESIZE
BRANCH, BIG_DATA, SUB_TREE = 1, 1, 2
OPTIONS = simdb.Options(delta_documents=60, growth=2, blocks=4)


def make_database(path):
    """Make a database with values of every kind: runs, delta, tombstones, metadata, vectors."""
    with simdb.open(path, options=OPTIONS, durability="none") as database:
        numbers = np.arange(300, dtype=np.uint64)
        database.insert_many(range(300), numbers * np.uint64(0x9E3779B97F4A7C15))
        database.insert_many(range(300, 400), [f"some text number {at}" for at in range(100)])
        database.insert_many(range(400, 500), range(100), [{"n": at} for at in range(100)])
        database.delete_many(range(0, 60, 7))
        database.insert_many(["long", "short"], [5, 6], ["x" * 9000, "y"])
        database.calibrate(20)
        database.insert_many([b"bytes", "delta"], ["the last text of all", "another text"])


def check(path):
    """Return the findings of the deep check."""
    with simdb.open(path, "r") as database:
        return [str(finding) for finding in database.check(deep=True)]


def answer(path):
    """Return everything that a reader gets, as one string."""
    with simdb.open(path, "r") as database:
        ids = list(database)
        rows = database.query_many(QUERIES, distance=4)
        similar = database.query_many(["some text number 7", "text"], similarity=0.7)
        documents = database.get_many(ids)
        pairs = [str(pair) for pair in database.find_all(distance=1)]
        return repr((
            ids, list(rows.ordinals), list(rows.distances), [str(row) for row in similar],
            [(each.fingerprint.bits, each.metadata) for each in documents], pairs,
        ))  # fmt: skip


def verdict(action, path):
    """Run `action(path)` in a forked child; return (how it ended, what it returned or raised).

    It ends as "done", "refused" (an error of simdb), "raised" (any other error) or "died" (by a
    signal).
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = ["done", action(path)]
        except simdb.Error as error:
            outcome = ["refused", f"{type(error).__name__}: {error}"]
        except BaseException as error:
            outcome = ["raised", repr(error)]
        with os.fdopen(writing, "w") as pipe:
            json.dump(outcome, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    return (
        tuple(json.loads(content)) if status == 0 else ("died", os.waitstatus_to_exitcode(status))
    )


def flipped(source, directory, bits):
    """Yield (bit, verdict of the check, verdict of the answers) for every bit, flipped alone."""
    path = directory / "flipped"
    shutil.copytree(source, path)
    descriptor = os.open(path / "data.mdb", os.O_RDWR)
    for bit in bits:
        byte = os.pread(descriptor, 1, bit // 8)
        os.pwrite(descriptor, bytes([byte[0] ^ 1 << bit % 8]), bit // 8)
        yield bit, verdict(check, path), verdict(answer, path)
        os.pwrite(descriptor, byte, bit // 8)
    os.close(descriptor)
    shutil.rmtree(path)


def living_bytes(content):
    """Return the positions (int64[n]) of bytes of a data file in which a flip can be found.

    These are the bytes that the last commit reaches, as LMDB 0.9 lays them out, except for bytes
    that LMDB ignores (the pad of a page, rests of pages, address and size of the map, which commit
    freed a page) and keys inside branches, since a flipped key may still divide its neighbours.
    """
    newest = max((0, 1), key=lambda meta: struct.unpack_from("<Q", content, _meta(meta) + 128)[0])
    alive = np.zeros(len(content), np.bool_)
    for meta in (0, 1):
        alive[_meta(meta) : _meta(meta) + 8] = True  # magic and version
    start = _meta(newest)
    alive[start + 24 : start + 136] = True
    alive[start + 29] = False  # flags of the process that made the file
    trees = [start + 24, start + 72]
    while trees:
        at = trees.pop()
        root = struct.unpack_from("<Q", content, at + 40)[0]
        pages = [] if root == 2**64 - 1 else [root]
        while pages:
            is_free = at == start + 24
            children, subtrees = _living_page(content, pages.pop(), alive, is_free)
            pages += children
            trees += subtrees
    return np.flatnonzero(alive)


def _meta(number):
    return number * PAGE_BYTES + 16


def _living_page(content, number, alive, is_free):
    """Mark the bytes of one page; return the pages below it, and the trees inside it."""
    page = number * PAGE_BYTES
    flags, lower = struct.unpack_from("<HH", content, page + 10)
    alive[page : page + 8] = alive[page + 10 : page + lower] = True
    children, trees = [], []
    for place in struct.unpack_from(f"<{(lower - 16) // 2}H", content, page + 16):
        node = page + place
        low, high, kind, key_bytes = struct.unpack_from("<HHHH", content, node)
        size, data = low | high << 16, node + 8 + key_bytes
        if flags == BRANCH:
            children.append(size | kind << 32)
            alive[node:data] = True
        elif kind == BIG_DATA:
            first = struct.unpack_from("<Q", content, data)[0] * PAGE_BYTES
            alive[node : data + 8] = True
            alive[first : first + 8] = alive[first + 10 : first + 16 + size] = True
        else:
            alive[node : data + size] = True
            trees += [data] if kind == SUB_TREE else []
        if is_free:
            alive[node + 8 : data] = False
    return children, trees
