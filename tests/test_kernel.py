import os
import subprocess
import sys

import pytest

from simdb import kernel
from simdb.errors import OptionError

SCRIPT = """
import simdb
from simdb import kernel
print(kernel.IS_COMPILED, simdb.fingerprint("some text of several words").bits)
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SIMDB_KERNEL": "", **environment},
    )


@pytest.fixture
def chosen():
    """Select the fastest variant again after the test."""
    yield
    kernel.select(kernel.variants()[-1])


def test_variants_are_listed_slowest_first():
    variants = kernel.variants()

    assert variants == sorted(variants, key=kernel.ORDER.index)
    assert len(set(variants)) == len(variants)


@pytest.mark.usefixtures("chosen")
def test_every_variant_can_be_selected():
    for variant in kernel.variants():
        kernel.select(variant)


def test_an_unknown_variant_is_refused_by_name():
    with pytest.raises(OptionError, match="'sse9'"):
        kernel.select("sse9")


def test_numpy_can_be_chosen_without_a_warning_and_answers_alike():
    by_numpy = run(SIMDB_KERNEL="numpy")

    assert by_numpy.stderr == ""
    assert by_numpy.stdout.split()[0] == "False"
    assert by_numpy.stdout.split()[1] == run(SIMDB_KERNEL="numpy").stdout.split()[1]


@pytest.mark.skipif(not kernel.IS_COMPILED, reason="the kernel is not compiled")
def test_every_choice_answers_alike():
    answers = {run(SIMDB_KERNEL=variant).stdout for variant in kernel.variants()}

    assert len(answers) == 1
    assert answers.pop().split()[1] == run(SIMDB_KERNEL="numpy").stdout.split()[1]


def test_a_choice_that_cannot_be_is_refused_at_once():
    refused = run(SIMDB_KERNEL="sse9")

    assert refused.returncode != 0
    assert "sse9" in refused.stderr
