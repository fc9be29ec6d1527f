"""The programs and the module of simhash: what they read, answer and write, and how they end."""

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from over import over

import simdb
from simdb.compat import programs, simhash
from simdb.core.errors import InputError

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


@over("name", ["find_all", "find_clusters"])
@over("text", ["", "5\n", "5\n5\n"])
def test_no_pairs_are_no_output(name, text):
    done = program(name, "--blocks", 4, "--distance", 3, "--input", "-", "--output", "-", text=text)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@over(
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
def test_wrong_use_has_the_exit_codes_of_simhash_cpp(arguments, code, message):
    done = program("find_all", *arguments)

    assert done.returncode == code
    assert message in done.stderr


@over("bad", ["18446744073709551616", "12a", "one"])
def test_a_bad_line_is_named_and_nothing_is_written(bad, tmp_path):
    target = tmp_path / "out.txt"

    done = program("find_clusters", "-b", 4, "-d", 3, "-o", target, text=f"1\n\n{bad}\n")

    assert done.returncode == 9
    assert "line 3" in done.stderr
    assert not target.exists()


def test_long_output_is_whole_and_help_is_there():
    numbers = [4 * each for each in range(1 << 15)]

    done = program("find_clusters", "-b", 20, "-d", 1, text=lines(numbers))
    shown = program("find_clusters", "--help")

    assert [json.loads(each) for each in done.stdout.splitlines()] == [numbers]
    assert (shown.returncode, "--blocks" in shown.stdout) == (0, True)


ALL = 2**64 - 1


def read(text: bytes) -> list[int]:
    parts = [np.empty(0, np.uint64), *programs.read_numbers(io.BytesIO(text))]
    return np.concatenate(parts).tolist()


def written(arrays: list[list[int]]) -> bytes:
    numbers = np.array([each for array in arrays for each in array], np.uint64)
    starts = np.array([at == 0 for array in arrays for at in range(len(array))], np.bool_)
    return programs.write_arrays(numbers, starts, is_closed=True).tobytes()


def edges() -> list[int]:
    powers = [10**power for power in range(20)]
    return [0, ALL, ALL - 1, *powers, *(each - 1 for each in powers), *(7 * p for p in powers[:-1])]


@over("block", [1, 2, 7, 64])
def test_numbers_are_the_same_wherever_the_text_is_cut(block, monkeypatch):
    monkeypatch.setattr(programs, "BLOCK_BYTES", block)

    assert read(b"12\n\r\n18446744073709551615\r\n-1\n\n 3") == [12, ALL, ALL, 3]
    with pytest.raises(InputError, match="line 1001 "):
        read(b"1\n" * 1000 + b"oops\n")


def test_numbers_of_every_length_sign_and_line_end_are_read():
    text = "".join(f"{each}\n" for each in edges())

    assert read(text.encode()) == edges()
    signed = b"-1\n-9223372036854775808\n+5\n-0\n-18446744073709551615\n2"
    assert read(signed) == [ALL, 2**63, 5, 0, 1, 2]
    assert read(b"") == read(b"\n \n\r\n") == []
    assert read(b"  7\t\n8 \r\n00000000000000000000000000000000000009\n\t+00\n") == [7, 8, 9, 0]


@over(
    "bad",
    ["x", "1x", "1 2", "0x10", "1.5", "1e3", "-", "+", "--1", "+-1", "1-", "\u0661", "1:", "/1",
     "1234567x90123456789", "123456789012345678/", "\0" + "1", "1\r2"],
)  # fmt: skip
def test_an_invalid_number_is_refused_with_its_line(bad):
    with pytest.raises(InputError, match="line 3 is not a decimal number"):
        read(f"1\n\n{bad}\n4\n".encode())


@over("bad", [ALL + 1, -ALL - 1, 20 * 10**18, 99999999999999999999, 10**30])
def test_a_number_of_more_than_64_bits_is_refused_with_its_line(bad):
    with pytest.raises(InputError, match="line 2 is out of range"):
        read(f"1\n{bad}\n".encode())


def test_a_binary_line_is_refused_with_a_short_message():
    with pytest.raises(InputError) as caught:
        read(b"\xff" * 100_000)

    assert len(str(caught.value)) < 300


def test_arrays_are_written_as_json():
    arrays = [[each] for each in edges()] + [edges(), [1, 2]]

    assert written(arrays) == "".join(f"{each}\n" for each in arrays).encode()
    assert written([]) == b""


def test_an_array_is_written_in_pieces():
    first = programs.write_arrays(np.array([1, 2], np.uint64), np.array([1, 0], bool), is_closed=0)
    second = programs.write_arrays(np.array([3, 4], np.uint64), np.array([0, 1], bool), is_closed=1)

    assert first.tobytes() + second.tobytes() == b"[1, 2, 3]\n[4]\n"


NIBBLES = [0x000000FF, 0x000000EF, 0x000000EE, 0x000000CE, 0x00000033]
NIBBLES_SHIFTED = [value << shift for shift in (0, 8, 16, 24) for value in NIBBLES]
NEAR = [(0xEF, 0xFF), (0xEE, 0xEF), (0xEE, 0xFF), (0xCE, 0xEE), (0xCE, 0xEF), (0xCE, 0xFF)]


def test_differing_bits_are_counted():
    assert simhash.num_differing_bits(0xDEADBEEF, 0xDEADBEAD) == 2
    assert simhash.num_differing_bits(0, 2**64 - 1) == 64


def test_a_bit_is_set_if_most_hashes_have_it():
    assert simhash.compute([]) == 0
    assert simhash.compute([0xDEADBEEF] * 100) == 0xDEADBEEF
    assert simhash.compute([0xDEADBEEFDEADBEEF, 0x2152411021524110]) == 0
    assert simhash.compute([0xABCD, 0xBCDE, 0xCDEF]) == 0xADCF
    assert simhash.compute(iter([2**64 - 1])) == 2**64 - 1


def test_many_hashes_are_counted_in_parts():
    hashes = [5] * 70_000 + [6] * 70_001

    assert simhash.compute(hashes) == 6


@over("blocks", range(4, 10))
def test_pairs_are_those_of_simhash_py(blocks):
    expected = [(low << shift, high << shift) for shift in (0, 8, 16, 24) for low, high in NEAR]

    assert simhash.find_all(NIBBLES_SHIFTED, blocks, 3) == sorted(expected)


def test_a_repeated_value_is_not_a_pair():
    assert simhash.find_all([7, 7, 5, 7], 4, 3) == [(5, 7)]
    assert simhash.find_all([], 4, 3) == []


def test_shingles_are_lists_of_consecutive_tokens():
    assert list(simhash.shingle(list(range(6)), 4)) == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert list(simhash.shingle(range(5))) == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert list(simhash.shingle("ab", 1)) == [["a"], ["b"]]
    assert list(simhash.shingle(iter(range(3)), 2)) == [[0, 1], [1, 2]]
    assert list(simhash.shingle(range(3), 4)) == []


def test_the_hash_is_the_head_of_the_md5_digest():
    assert simhash.unsigned_hash(b"") == 0xD41D8CD98F00B204
    assert simhash.unsigned_hash(b"abc") == 0x900150983CD24FB0
    with pytest.raises(TypeError):
        simhash.unsigned_hash("abc")


def test_arguments_undefined_in_simhash_py_are_refused():
    with pytest.raises(simdb.OptionError, match="greater than distance"):
        simhash.find_all([1, 2], 3, 3)
    with pytest.raises(ValueError, match="1 or more"):
        list(simhash.shingle(range(10), 0))
    with pytest.raises(simdb.InputError, match="fingerprint 0"):
        simhash.find_all([-1], 4, 3)
    with pytest.raises(simdb.InputError):
        simhash.compute([2**64])
