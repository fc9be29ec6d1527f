"""The programs that replace those of simhash-cpp: their output, and the codes they end with."""

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from simdb.compat import programs

SPREAD = [0xFF, 0xEF, 0xEE, 0xCE, 0x33, 0xFF00, 0xEF00, 0xFF]
PAIRS = [[0xEF, 0xFF], [0xEE, 0xEF], [0xEE, 0xFF], [0xCE, 0xEE], [0xCE, 0xEF], [0xCE, 0xFF]]


def program(name, *arguments, text=""):
    """Run a program in this process; return its exit code and what it wrote."""
    streams = {each: io.TextIOWrapper(io.BytesIO()) for each in ("stdout", "stderr")}
    streams["stdin"] = io.TextIOWrapper(io.BytesIO(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"simhash-{name}", *map(str, arguments)])
        for each, stream in streams.items():
            patch.setattr(sys, each, stream)
        with pytest.raises(SystemExit) as ended:
            getattr(programs, name)()
    for stream in streams.values():
        stream.seek(0)
    return SimpleNamespace(
        returncode=ended.value.code,
        stdout=streams["stdout"].read(),
        stderr=streams["stderr"].read(),
    )


def lines(numbers):
    return "".join(f"{each}\n" for each in numbers)


def test_pairs_come_as_json_arrays_each_value_counted_once():
    code = "from simdb.compat import programs; programs.find_all()"
    command = [sys.executable, "-c", code, "--blocks", "4", "--distance", "3"]

    done = subprocess.run(command, input=lines(SPREAD), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(each) for each in done.stdout.splitlines()]
    assert sorted(found) == sorted([*PAIRS, [0xEF00, 0xFF00]])
    assert all(f"[{left}, {right}]\n" in done.stdout for left, right in PAIRS)


def test_clusters_come_as_json_arrays():
    text = lines(SPREAD)

    done = program("find_clusters", "--blocks", 6, "--distance", 1, text=text)

    assert done.returncode == 0
    assert done.stdout == "[206, 238, 239, 255]\n[61184, 65280]\n"


def test_flags_have_short_forms_and_files_are_read_and_written(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("-1\r\n18446744073709551614\r\n\r\n")

    done = program("find_all", "-b4", "-d", 3, "-i", source, "-o", target)

    assert (done.returncode, done.stdout) == (0, "")
    assert target.read_bytes() == b"[18446744073709551614, 18446744073709551615]\n"


@pytest.mark.parametrize("name", ["find_all", "find_clusters"])
@pytest.mark.parametrize("text", ["", "5\n", "5\n5\n"])
def test_no_pairs_are_no_output(name, text):
    done = program(name, "--blocks", 4, "--distance", 3, "--input", "-", "--output", "-", text=text)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nonsense"], 1, "--nonsense"),
        (["--blocks"], 1, "expected one argument"),
        (["-d", 3], 2, "--blocks"),
        (["-b", 0, "-d", 3], 2, "'0'"),
        (["-b", "x", "-d", 3], 2, "'x'"),
        (["-b", "9" * 5000, "-d", 3], 2, "--blocks"),
        (["-b", 4], 3, "--distance"),
        (["-b", "4", "-d", "-3"], 3, "'-3'"),
        (["-b", 4, "-d", 3, "-i", ""], 4, "--input"),
        (["-b", 4, "-d", 3, "-o", ""], 5, "--output"),
        (["-b", 3, "-d", 3], 6, "greater than distance"),
        (["-b", 65, "-d", 3], 6, "from 1 to 64"),
        (["-b", 4, "-d", 3, "-i", "/nowhere"], 7, "/nowhere: No such file"),
        (["-b", 4, "-d", 3, "-o", "/nowhere/out"], 8, "/nowhere/out: No such file"),
    ],
)
def test_wrong_use_has_the_exit_codes_of_simhash_cpp(arguments, code, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simhash-find-all", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))

    with pytest.raises(SystemExit) as ended:
        programs.find_all()

    assert ended.value.code == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("bad", ["18446744073709551616", "12a", "one"])
def test_a_bad_line_is_named_and_nothing_is_written(bad, tmp_path):
    target = tmp_path / "out.txt"

    done = program("find_clusters", "-b", 4, "-d", 3, "-o", target, text=f"1\n\n{bad}\n")

    assert done.returncode == 9
    assert "line 3" in done.stderr
    assert not target.exists()


def test_help_is_there():
    done = program("find_clusters", "--help")

    assert done.returncode == 0
    assert "--blocks" in done.stdout


def test_long_output_is_whole():
    numbers = [4 * each for each in range(1 << 15)]

    done = program("find_clusters", "-b", 20, "-d", 1, text=lines(numbers))

    assert [json.loads(each) for each in done.stdout.splitlines()] == [numbers]
