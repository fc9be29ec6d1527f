"""A process whose writes are logged, for test_power_loss.py: `logged.py DATABASE LOG`.

It makes a database with an IDF table.  After each commit it writes a mark into the log.
"""

import ctypes
import os
import sys

import simdb

OPTIONS = simdb.Options(delta_documents=4, growth=2, sketch=simdb.Simhash(weighting="tf-idf"))
DOCUMENTS = [f"the weighted document number {number} of few" for number in range(10)]


def main(path, log):
    """Make the database; close nothing, as in a power cut."""
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.fault_log(os.fsencode(log))
    database = simdb.open(path, options=OPTIONS, durability="full")
    shim.fault_mark(0)
    database.fit_idf(DOCUMENTS)
    shim.fault_mark(1)
    database.insert_many(range(len(DOCUMENTS)), DOCUMENTS)
    shim.fault_mark(2)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
