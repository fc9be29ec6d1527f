"""The fuzz program finds nothing at fixed seeds, and does find what is broken on purpose."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import fuzz
import simdb
from cases import KILLED, outcome_of
from injecting import CAN_INJECT, Injector
from inputs import BEFORE, problems
from simdb.database.write import commit

ROOT = Path(__file__).parents[2]
SUMMARY = "3 documents, 1 group, 1 duplicate; 0.01 s, 0.6 MB/s"
TEXTS = [f"the weighted document number {number} of few" for number in range(10)]
WEIGHTED = simdb.Options(sketch=simdb.Simhash(weighting="tf-idf"))
SCRATCH = re.compile(r"/\S*simdb-fuzz-\w+|line \d+")

only_injecting = pytest.mark.skipif(
    not CAN_INJECT, reason="places are found by the instructions of CPython 3.11"
)

only_failing = pytest.mark.skipif(
    not shutil.which("cc") or sys.platform != "linux" or "LD_PRELOAD" in os.environ,
    reason="faults are injected by a library that is loaded before others",
)


@pytest.fixture(scope="module")
def failing():
    """Run a session in a process of its own, where calls of the system fail."""
    line = "--only session --seed 3 --steps 10 --verbs insert_many failing power_cut"
    command = [sys.executable, ROOT / "tools" / "fuzz" / "fuzz.py", *line.split()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def fuzzed(capfd, monkeypatch):
    """Run the program in this process; return its exit code and what it printed."""
    monkeypatch.setenv("FAULT_DIRECTORY", "")

    def run(line):
        code = fuzz.main(line.split())
        return code, capfd.readouterr().out

    return run


def counted(what, told):
    """Return how often a step or a thing was counted."""
    found = re.search(rf"(\d+) {what}", told)
    return int(found[1]) if found else 0


@pytest.mark.parametrize("tiny", [0, 1])
def test_all_verbs_beside_other_processes_kills_and_threads_answer_as_the_loops_do(fuzzed, tiny):
    code, told = fuzzed(f"--only session --seed 3 --steps 25 --tiny {tiny}")

    assert code == 0, told


def test_hashes_of_all_widths_and_forms_answer_as_the_loops_do(fuzzed):
    code, told = fuzzed("--only hashes --seed 3 --steps 25 --documents 0 --tiny 1")

    assert code == 0, told


def test_large_databases_answer_as_a_sample_of_brute_force_does(fuzzed):
    verbs = "query_many find_all find_clusters transact rebuild compact delete_many"
    code, told = fuzzed(f"--only large --seed 4 --documents 700 --verbs {verbs}")

    assert code == 0, told


@only_injecting
def test_a_kill_in_any_verb_leaves_a_committed_state_and_nothing_half_made(fuzzed):
    code, told = fuzzed("--only session --seed 5 --steps 5 --verbs insert_many killed")

    assert code == 0, told
    assert counted("killed", told) == 2


@only_injecting
def test_an_interrupted_verb_leaves_a_sound_database_that_closes_at_once(fuzzed):
    code, told = fuzzed("--only session --seed 6 --steps 5 --verbs insert_many interrupted")

    assert code == 0, told
    assert counted("interrupted", told) == 2


@only_injecting
def test_a_kill_while_a_database_is_made_and_weighted_leaves_it_as_before_or_after(tmp_path):
    def make(path):
        with simdb.open(path, options=WEIGHTED) as database:
            if database.options.sketch.idf is None:
                database.fit_idf(TEXTS)
            database.insert("new", TEXTS[0], on_conflict="replace")

    def injected(path, injector):
        injector.run(lambda: make(path))
        return injector

    places = outcome_of(lambda: injected(tmp_path / "whole", Injector()), 60).get().places
    firsts, errors = [numbers[0] for numbers in places.values()], []
    for number in firsts[:: len(firsts) // 3]:
        path, injector = tmp_path / str(number), Injector(number, kills=True)
        errors.append(outcome_of(lambda path=path, it=injector: injected(path, it), 60).error)
        make(path)

        with simdb.open(path, "r") as database:
            assert (list(database), list(database.check(deep=True))) == (["new"], [])
            assert database.options.sketch.idf is not None
    assert errors.count(KILLED) > 1


@only_failing
def test_a_write_that_fails_is_told_and_loses_nothing(failing):
    code, told = failing

    assert code == 0, told
    assert counted("errors told", told) > 0


@only_failing
def test_every_image_of_a_power_cut_opens_to_a_committed_state(failing):
    code, told = failing

    assert code == 0, told
    assert counted("disk images", told) > 2


def test_threads_that_end_each_others_things_get_answers_or_errors(fuzzed):
    code, told = fuzzed("--only burst --documents 200 --seed 2 --steps 1")

    assert code == 0, told
    assert counted("acts of threads", told) > 20


def test_writers_and_readers_go_on_when_others_are_killed(fuzzed):
    code, told = fuzzed("--only session --seed 5 --steps 1 --verbs burst")

    assert code == 0, told
    assert counted("transactions of processes", told) > 1
    assert counted("kills", told) > 5


def test_repeated_runs_keep_and_store_what_a_double_loop_says(fuzzed):
    code, told = fuzzed("--only repeats --seed 14 --steps 15")

    assert code == 0, told
    assert min(counted(kind, told) for kind in ("kept again", "seen before", "compared")) > 1


def test_damaged_pages_end_in_an_answer_or_an_error_of_simdb(fuzzed):
    code, told = fuzzed("--only damage --seed 5 --steps 6")

    assert code == 0, told


def test_damage_of_one_page_is_mended_and_what_is_lost_is_counted(fuzzed):
    code, told = fuzzed("--only rescues --seed 6 --steps 3")

    assert code == 0, told


def test_damaged_files_of_every_format_end_no_command_and_lose_nothing(fuzzed):
    code, told = fuzzed("--only inputs --seed 7 --steps 3")

    assert code == 0, told


def test_any_bytes_to_any_decoder_give_an_answer_or_an_error_of_simdb(fuzzed):
    code, told = fuzzed("--only decoders --seed 9 --steps 25")

    assert code == 0, told


def test_texts_of_all_scripts_have_one_sketch_in_all_variants_of_the_kernel(fuzzed):
    code, told = fuzzed("--only texts --seed 9")

    assert code == 0, told


@pytest.mark.slow
def test_minutes_of_all_kinds_find_nothing(fuzzed):
    code, told = fuzzed("--seconds 300")

    assert code == 0, told


def test_a_deletion_that_others_do_not_see_is_found_with_the_command_that_repeats_it(
    fuzzed, monkeypatch
):
    """Another process would answer with the deleted document for ever."""
    write = commit._write_deletions

    def forget(writer, manifest, staging):
        made = write(writer, manifest, staging)
        return replace(made, deleted_version=manifest.deleted_version)

    monkeypatch.setattr(commit, "_write_deletions", forget)

    line = "--only session --seed 3 --steps 60 --verbs insert_many elsewhere"
    code, told = fuzzed(line)
    command = told.partition("run only this case by\n")[2].splitlines()[0].partition("fuzz.py ")[2]
    again, repeated = fuzzed(command)

    assert (code, again) == (1, 1), told
    assert "other ids, or another order" in told
    failures = [each[each.index("FAILED") : each.index("run only")] for each in (told, repeated)]
    assert SCRATCH.sub("", failures[0]) == SCRATCH.sub("", failures[1])


def test_a_case_that_dies_is_told_with_its_last_steps(fuzzed, monkeypatch):
    monkeypatch.setattr(simdb.Database, "rebuild", lambda *_: os.abort())

    code, told = fuzzed("--only session --seed 3 --verbs insert_many rewrite --steps 3")

    assert code == 1
    assert re.search(r"  \d: rewrite\nended with SIGABRT", told)


def test_every_kind_has_a_test_and_ci_runs_them_all():
    tests = Path(__file__).read_text(encoding="utf-8")

    assert [kind for kind in fuzz.KINDS if f'"--only {kind} --' not in tests] == []
    assert "tools/fuzz/fuzz.py --seconds $(SECONDS)" in (ROOT / "Makefile").read_text()
    assert 'fuzz SECONDS="${FUZZ_SECONDS:-300}"' in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize(
    ("code", "told", "output", "wrong"),
    [
        (0, SUMMARY, b"1\n2\n", []),
        (0, SUMMARY, b"1\n", ["3 documents, 1 lines in the output, not 2"]),
        (1, SUMMARY, b"1\n2\n", ["exit code 1, but 0 skipped"]),
        (0, f"{SUMMARY}; 1 record skipped, as reported", b"1\n2\n", ["exit code 0, but 1 skipped"]),
        (2, "simdb: no file", b"", ["the output has changed"]),
        (2, "simdb: no file", BEFORE, []),
    ],
)
def test_what_does_not_add_up_in_a_summary_is_seen(tmp_path, code, told, output, wrong):
    (tmp_path / "out.jsonl").write_bytes(output)

    found = problems((code, told, None), tmp_path, "a.csv", "dedup")

    assert found == [*wrong, told] * bool(wrong)
