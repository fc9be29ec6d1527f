"""Lists and pages of results replace no file of the reference, and pages replace no source."""

import json
from pathlib import Path

import pytest

import simdb

WORDS = " ".join(f"word{at}" for at in range(30))
ROWS = [{"id": 0, "text": WORDS}, {"id": 1, "text": "a few other words"}]
CONTENT = "".join(json.dumps(row) + "\n" for row in ROWS)
HELD = "held/a.jsonl"


@pytest.fixture(params=["a.jsonl", None], ids=["file", "rows"])
def data(request, tmp_path, monkeypatch):
    """Data in a file or in memory, beside a reference of the same name in a folder."""
    monkeypatch.chdir(tmp_path)
    Path("held").mkdir()
    for place in ("a.jsonl", HELD):
        Path(place).write_text(CONTENT)
    return request.param or ROWS


@pytest.mark.parametrize("against", [HELD, "held/*.jsonl"])
@pytest.mark.parametrize("verb", [simdb.deduplicate, simdb.decontaminate])
def test_nothing_replaces_a_file_of_the_reference(data, verb, against):
    """`write` replaced the only copy of the reference without a word."""
    found = verb(data, against=against, id="id")
    writing = [found.write, found.report, getattr(found, "write_leaks", found.write)]

    for write in writing:
        with pytest.raises(simdb.OptionError, match=r"a\.jsonl is in against=, which stays"):
            write(HELD)
    with pytest.raises(simdb.OptionError):
        found.write("held/")
    found.write("other.jsonl")

    assert Path(HELD).read_text() == CONTENT


def test_a_page_replaces_no_source(data):
    if data is ROWS:
        pytest.skip("rows are in no file")
    found = simdb.deduplicate(data)

    with pytest.raises(simdb.OptionError, match=r"a\.jsonl is in data, which stays as it is"):
        found.report("a.jsonl")
    with pytest.raises(simdb.OptionError, match=r"a\.jsonl is a source, .* in_place=True"):
        found.write("./a.jsonl")
    found.write("a.jsonl", in_place=True)

    assert Path("a.jsonl").read_text() == CONTENT
