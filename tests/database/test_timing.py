"""The delays of this machine: measured, stored with a calibration, and used by the planner."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from weighted import fingerprints

import simdb
from simdb.database.maintenance import calibration
from simdb.plan.calibration import USUAL_DELAYS, decode_calibration, encode_calibration


def random_documents(count):
    return fingerprints(np.random.default_rng(5).laplace(size=(count, 128)))


def test_every_delay_is_measured_within_its_bounds(monkeypatch):
    for name, small in (("DEPTH", 10), ("QUERIES", 32), ("VECTORS", 64), ("SORTED", 256)):
        monkeypatch.setattr(calibration, name, small)

    found = asdict(calibration.measured_delays())

    for name, usual in asdict(USUAL_DELAYS).items():
        assert calibration.LEAST * usual <= found[name] <= calibration.MOST * usual
        assert type(found[name]) is float


def test_a_disturbed_measurement_counts_as_a_bound():
    found = calibration._bounded({"memory": -1.0, "compare": 1e9, "measure": 6e-9})

    assert found.memory == calibration.LEAST * USUAL_DELAYS.memory
    assert found.compare == calibration.MOST * USUAL_DELAYS.compare
    assert found.measure == 6e-9
    assert found.sort == USUAL_DELAYS.sort


@pytest.mark.parametrize("stored", [None, {}, {"memory": 2e-9, "tomorrow": 1.0}])
def test_what_an_older_version_did_not_measure_is_as_usual(open_database, stored):
    database = open_database(options=simdb.Options(delta_documents=64))
    database.insert_many(range(100), random_documents(100))
    encoded = encode_calibration(database.calibrate(50))

    if stored is None:
        del encoded["delays"]
    else:
        encoded["delays"] = stored
    found = decode_calibration(encoded).delays

    memory = (stored or {}).get("memory", USUAL_DELAYS.memory)
    assert found == replace(USUAL_DELAYS, memory=memory)
