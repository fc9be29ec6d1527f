"""A process whose writes are logged, for test_power_loss.py.

    logged.py DATABASE LOG DURABILITY STEPS

It makes the database and runs the first STEPS transactions of the workload.  After each commit it
writes a mark into the log.  With `idf` for STEPS it makes a database with an IDF table instead.
"""

import ctypes
import os
import sys

from workload import IDF_DOCUMENTS, IDF_OPTIONS, LOGGED_SEED, OPTIONS, changes, merge_slowly, play

import simdb


def main(path, log, durability, steps):
    """Run the steps; close nothing, as in a power cut."""
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.fault_log(os.fsencode(log))
    if steps == "idf":
        database = simdb.open(path, options=IDF_OPTIONS, durability=durability)
        shim.fault_mark(0)
        database.fit_idf(IDF_DOCUMENTS)
        shim.fault_mark(1)
        database.insert_many(range(len(IDF_DOCUMENTS)), IDF_DOCUMENTS)
        shim.fault_mark(2)
    else:
        merge_slowly()
        database = simdb.open(path, options=OPTIONS, durability=durability)
        for step in range(int(steps)):
            play(database, changes(LOGGED_SEED, step))
            shim.fault_mark(step)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
