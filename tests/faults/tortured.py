"""The processes of test_torture.py: `tortured.py ROLE DATABASE SECONDS SEED`.

The invariant is a ledger.  Account k is a document with the id ("account", k), whose metadata is
its balance.  Every transaction moves money between accounts, so each state has the same sum.  A
transaction also replaces a pair of twins with a new pair that shares a fingerprint, and names the
new pair in the document "twins", so that ids, metadata and the tables must be of one state.
"""

import os
import random
import sys
import threading
import time
import traceback

import simdb

OPTIONS = simdb.Options(delta_documents=20, growth=2, blocks=4)
ACCOUNTS, BALANCE = 12, 100
LEAST_MAP = 1 << 20


def begin(path):
    """Make the database that the ledger begins with."""
    settings = {"options": OPTIONS, "durability": "process", "map_size": LEAST_MAP}
    with simdb.open(path, **settings) as database, database.write() as transaction:
        for account in range(ACCOUNTS):
            transaction.insert(f"account {account}", far(account), BALANCE)
        transaction.insert_many(["left -1", "right -1"], [twin(-1)] * 2)
        transaction.insert("twins", far(-2), -1)


def write(database, chance):
    """Run one transaction of `change`."""
    with database.write() as transaction:
        change(transaction, chance)


def change(transaction, chance):
    """Change the ledger and keep its sum; now and then grow the database."""
    one, other = chance.sample([f"account {number}" for number in range(ACCOUNTS)], 2)
    amount = chance.randrange(20)
    balances = [each.metadata for each in transaction.get_many([one, other])]
    transaction.insert_many(
        [one, other],
        [far(balances[0] - amount), far(balances[1] + amount)],
        [balances[0] - amount, balances[1] + amount],
        on_conflict="replace",
    )
    old = transaction.get("twins").metadata
    new = old + 1
    assert transaction.delete_many([f"left {old}", f"right {old}"]) == 2
    transaction.insert_many([f"left {new}", f"right {new}"], [twin(new)] * 2)
    transaction.insert("twins", far(-2), new, on_conflict="replace")
    if chance.random() < 0.05:
        ballast = [f"ballast {new} {number}" for number in range(2000)]
        numbers = [chance.getrandbits(64) for _ in ballast]
        transaction.insert_many(ballast, numbers, [{"x": "y" * 200}] * len(ballast))
    elif chance.random() < 0.1:
        transaction.delete_many([id for id in transaction if str(id).startswith("ballast")])


def assert_consistent(snapshot):
    """Check the promises of the ledger in one state."""
    balances = snapshot.get_many([f"account {number}" for number in range(ACCOUNTS)])
    assert sum(each.metadata for each in balances) == ACCOUNTS * BALANCE, balances
    number = snapshot.get("twins").metadata
    found = {match.id for match in snapshot.query(twin(number), distance=0)}
    assert {f"left {number}", f"right {number}"} <= found, (number, found)
    ids = [id for id in snapshot if str(id).startswith(("left", "right"))]
    assert ids == [f"left {number}", f"right {number}"], ids
    assert len(list(snapshot)) == len(snapshot)


def read(database, chance):
    """Read the database once, by a snapshot or by verbs alone."""
    if chance.random() < 0.8:
        with database.read() as snapshot:
            assert_consistent(snapshot)
            if chance.random() < 0.1:
                time.sleep(0.02)
                assert_consistent(snapshot)
    else:
        account = database.get(f"account {chance.randrange(ACCOUNTS)}")
        assert isinstance(account.metadata, int)
        database.query(twin(chance.randrange(100)), distance=2)


def compact(database, _chance):
    """Compact; this replaces the data file if no other process has the database open."""
    database.compact()
    time.sleep(0.2)


def fork(database, chance):
    """Fork a child, which reads with the inherited database and with one of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            read(database, chance)
            with simdb.open(database.path, "r") as own:
                read(own, chance)
            code = 0
        except simdb.ForkedError:
            code = 0  # another thread was inside a call
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def far(number):
    """Return a fingerprint that is not near the fingerprints of other numbers."""
    return number * 0x9E3779B97F4A7C15 % 2**64


def twin(number):
    """Return the fingerprint of the pair `number`."""
    return far(number + 1_000_000)


ROLES = {
    "writer": [write],
    "compacting writer": [write, write, write, write, compact],
    "reader": [read],
    "threads": [read, read, fork, write],
}


def keep_at(actions, database, stop_seconds, seed):
    """Run the actions in turn until the time is over; BusyError is allowed."""
    chance = random.Random(seed)
    done = 0
    while time.monotonic() < stop_seconds:
        try:
            actions[done % len(actions)](database, chance)
        except simdb.BusyError:
            time.sleep(0.01)
        done += 1
    return done


def main(role, path, seconds, seed):
    """Work until the time is over; print how often.  "threads" runs each action in a thread."""
    stop = time.monotonic() + float(seconds)
    mode = "r" if role == "reader" else "w"
    done, errors = [], []

    def run(actions, number):
        try:
            done.append(keep_at(actions, database, stop, f"{seed} {number}"))
        except BaseException as error:
            errors.append(error)
            raise

    groups = [[action] for action in ROLES[role]] if role == "threads" else [ROLES[role]]
    settings = {"durability": "process", "timeout": 30, "map_size": LEAST_MAP}
    with simdb.open(path, mode, **settings) as database:
        threads = [
            threading.Thread(target=run, args=[group, number])
            for number, group in enumerate(groups)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(sum(done), flush=True)
    os._exit(1 if errors else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
