"""Damaged input files of every format: no traceback, and what was read adds up."""

import pytest
from torture_tool import report_of

from inputs import BEFORE, problems

SUMMARY = "3 documents, 1 group, 1 duplicate; 0.01 s, 0.6 MB/s"


def test_damaged_files_of_every_format_end_no_command_and_lose_nothing():
    report = report_of("inputs.py", "--trials", 12)

    assert report["bad"] == []
    assert report["tried"] == 12


@pytest.mark.slow
def test_a_thousand_damaged_files_end_no_command_and_lose_nothing():
    assert report_of("inputs.py", "--trials", 1000)["bad"] == []


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
def test_the_campaign_sees_what_does_not_add_up(tmp_path, code, told, output, wrong):
    (tmp_path / "out.jsonl").write_bytes(output)

    found = problems((code, told, None), tmp_path, "a.csv", "dedup")

    assert found == [*wrong, told] * bool(wrong)


def test_the_campaign_counts_the_lines_of_json(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"{}\n\n{}\n{}\n{}")
    (tmp_path / "out.jsonl").write_bytes(b"1\n2\n")

    found = problems((0, SUMMARY, None), tmp_path, "a.jsonl", "dedup")

    assert found == ["4 lines, 3 documents, 0 skipped", SUMMARY]
