"""Inputs: damages input files of every format, and runs the commands that read them.

A step makes a collection, writes it in one format, changes some bytes, and runs one command in a
forked child.  The command must end with one of its exit codes and without a traceback.  Its counts
must add up: every document that was read is in the output, or was removed as a duplicate or for an
item.  Every JSON line is a document or skipped.  After exit code 2, the output is unchanged.
"""

import gzip
import io
import json
import os
import random
import re
from functools import partial

import pyarrow
import pyarrow.parquet
from click.testing import CliRunner

from cases import outcome_of
from simdb.cli.app import app

HANG_SECONDS = 60
WORDS = ("red", "green", "blue", "white", "schön", "東京", "почта", "θάλασσα", "12.5", "a&b", "<b>")
PAGE = '<html><head><meta charset="{}"></head><body><p class="x">{}</p><select><option>a</select>'
CHARSETS = ("utf-8", "iso-8859-1", "shift_jis", "nonsense")
BEFORE = b"an earlier result\n"
NUMBER = "([0-9,]+)"


def rows_of(chance):
    """Draw records, of which some are copies."""
    texts = []
    for _ in range(chance.randint(1, 30)):
        text = " ".join(f"{chance.choice(WORDS)}{chance.randrange(50)}" for _ in range(20))
        page = PAGE.format(chance.choice(CHARSETS), text)
        texts += [chance.choice([text, page])] * chance.choice([1, 1, 2])
    return [{"id": f"d{at}", "text": text, "n": at} for at, text in enumerate(texts)]


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def delimited(delimiter, rows):
    lines = [["id", "text", "n"], *([str(each) for each in row.values()] for row in rows)]
    quoted = (['"' + cell.replace('"', '""') + '"' for cell in cells] for cells in lines)
    return "".join(delimiter.join(cells) + "\n" for cells in quoted).encode()


def parquet(rows):
    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), made)
    return made.getvalue()


FORMATS = {
    "a.jsonl": json_lines,
    "a.json": lambda rows: json.dumps(rows, ensure_ascii=False).encode(),
    "a.csv": partial(delimited, ","),
    "a.tsv": partial(delimited, "\t"),
    "a.parquet": parquet,
    "a.jsonl.gz": lambda rows: gzip.compress(json_lines(rows)),
    "a.html": lambda rows: rows[-1]["text"].encode(),
}
COMMANDS = {
    "dedup": ["dedup", "{}", "-o", "out.jsonl"],
    "dedup --db": ["dedup", "{}", "-o", "out.jsonl", "--db", "db"],
    "dedup pages": ["dedup", "{}", "-o", "out.jsonl", "--markup", "html"],
    "dedup longest": ["dedup", "{}", "-o", "out.jsonl", "--keep", "max:n"],
    "dedup lines": ["dedup", "{}", "-o", "out.jsonl", "--unit", "line"],
    "decontaminate": ["decontaminate", "{}", "--against", "items.jsonl", "-o", "out.jsonl"],
}


def flip(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def cut(chance, content):
    return content[: chance.randrange(len(content))]


def leave_out(chance, content):
    start = chance.randrange(len(content))
    return content[:start] + content[start + chance.randint(1, 40) :]


def repeat(chance, content):
    start, stop = sorted(chance.randrange(len(content)) for _ in range(2))
    return content[:stop] + content[start:]


def insert(chance, content):
    at = chance.randrange(len(content))
    odd = [b"\0", b"\xff\xfe", b'"', b"\r", b"\n", b"\\ud800", b"[" * 3000, b"{", b"<a " * 3000,
           b"<div>" * 5000, b"9" * 5000, "\u2028".encode(), b"\xed\xa0\x80"]  # fmt: skip
    return content[:at] + chance.choice(odd) + content[at:]


CHANGES = (flip, cut, leave_out, repeat, insert)


def run(case):
    """Damage files and run commands."""
    for number in range(case.steps):
        chance = random.Random(f"{case.seed} {number}")
        name, command = chance.choice(list(FORMATS)), chance.choice(list(COMMANDS))
        case.step(number, command)
        case.note(f"    {name}")
        rows = rows_of(chance)
        content = FORMATS[name](rows)
        for _ in range(chance.choice([1, 1, 2, 5])):
            content = chance.choice(CHANGES)(chance, content or b"x")
        path = case.folder / str(number)
        path.mkdir()
        (path / name).write_bytes(content)
        (path / "items.jsonl").write_bytes(json_lines(rows[:2]))
        (path / "out.jsonl").write_bytes(BEFORE)
        words = [each.format(name) for each in COMMANDS[command]]
        ran = outcome_of(partial(invoked, path, words), HANG_SECONDS).get()
        assert problems(ran, path, name, command) == []


def invoked(path, words):
    """Run a command in a folder; return its exit code, what it says, and its exception."""
    os.chdir(path)
    ran = CliRunner().invoke(app, words)
    error = None if isinstance(ran.exception, SystemExit | None) else repr(ran.exception)
    return ran.exit_code, ran.stderr, error


def problems(ran, path, name, command):
    """Return the contradictions in the result of a command."""
    code, told, error = ran
    if error is not None or code not in (0, 1, 2):
        return [f"exit code {code}: {error}", told]
    output = (path / "out.jsonl").read_bytes()
    left = [each for each in os.listdir(path) if each.endswith(".partial")]
    if left:
        return [f"{left} stays", told]
    if code == 2:
        return [] if output == BEFORE else ["the output has changed", told]
    is_clean = command == "decontaminate"
    read = counted(told, "in [0-9,]+ of N documents?" if is_clean else "^N documents?")
    skipped = counted(told, "N (?:files?|records?|files? or records?) skipped")
    gone = counted(told, "N left out" if "lines" in command else "N duplicates?")
    kept, wanted = output.count(b"\n"), counted(told, "N kept") if is_clean else read - gone
    wrong = []
    if bool(skipped) != code:
        wrong.append(f"exit code {code}, but {skipped} skipped")
    if kept != wanted:
        wrong.append(f"{read} documents, {kept} lines in the output, not {wanted}")
    if name == "a.jsonl":
        lines = sum(bool(line.strip()) for line in (path / name).read_bytes().split(b"\n"))
        if lines != read + skipped:
            wrong.append(f"{lines} lines, {read} documents, {skipped} skipped")
    return [*wrong, told] if wrong else []


def counted(told, what):
    """Return the number N of the summary, 0 if it is not there."""
    found = re.findall(what.replace("N", NUMBER), told, re.MULTILINE)
    return int(found[-1].replace(",", "")) if found else 0
