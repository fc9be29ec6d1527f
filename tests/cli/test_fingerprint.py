"""Command fingerprint: its output is equal to that of the library."""

import simdb

FOX = "the quick brown fox jumps over the lazy dog and sleeps"
SEA = "she sells sea shells on the sea shore"


def shown(id, text, sketch=None, bits=8):
    made = simdb.fingerprint(text, sketch)
    return {
        "id": id,
        "fingerprint": f"0x{made.bits:016x}",
        "decimal": made.bits,
        "features": max(1, len(text.split()) - 2),
        "volatile": [
            {"bit": bit, "weight": made.weights[bit]} for bit in made.volatility[:bits].tolist()
        ],
    }


def test_standard_input_is_one_text(simdb_run):
    assert simdb_run("fingerprint", "-", given=f"{FOX}\n{SEA}\n").rows[0]["id"] == "-"
    assert simdb_run("fingerprint", "-", given=FOX).rows == [shown("-", FOX)]


def test_each_file_and_each_record_has_a_fingerprint(simdb_run, write_lines, tmp_path):
    (tmp_path / "fox.txt").write_text(FOX)
    write_lines("more.jsonl", {"id": "sea", "text": SEA}, {"text": FOX})

    ran = simdb_run("fingerprint", "fox.txt", "more.jsonl", "--bits", "2")

    assert ran.code == 0
    assert ran.rows == [
        shown("fox.txt", FOX, bits=2), shown("sea", SEA, bits=2), shown("more.jsonl:2", FOX, bits=2)
    ]  # fmt: skip


def test_each_line_can_be_a_text(simdb_run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(f"{FOX}\r\n\n{SEA}".encode("utf-16"))

    rows = simdb_run("fingerprint", "--lines", "a.jsonl").rows

    assert [rows[0], rows[2]] == [shown("a.jsonl:1", FOX), shown("a.jsonl:3", SEA)]
    assert (rows[1]["features"], rows[1]["volatile"]) == (0, [])


def test_a_bad_line_is_named_and_the_rest_is_shown(simdb_run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 au lait\n" + SEA.encode())

    ran = simdb_run("fingerprint", "--lines", "a.txt")

    assert ran.code == 1
    assert ran.rows == [shown("a.txt:2", SEA)]
    assert "a.txt:1: invalid utf-8 at byte 3; use --encoding cp1252 (a guess)" in ran.notes


def test_the_sketch_comes_from_options_or_from_a_database(simdb_run):
    sketch = simdb.Simhash(seed=7)
    simdb_run("create", "db", "--seed", "7")

    by_option = simdb_run("fingerprint", "--text", FOX, "--seed", "7")
    by_database = simdb_run("fingerprint", "--text", FOX, "--db", "db")

    assert by_option.rows == by_database.rows == [shown("", FOX, sketch)]
