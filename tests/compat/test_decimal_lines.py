import io

import numpy as np
import pytest
from over import over

from simdb.compat import programs
from simdb.core.errors import InputError

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


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_numbers_are_the_same_wherever_the_text_is_cut(block, monkeypatch):
    monkeypatch.setattr(programs, "BLOCK_BYTES", block)

    assert read(b"12\n\r\n18446744073709551615\r\n-1\n\n 3") == [12, ALL, ALL, 3]


def test_spaces_and_leading_zeros_are_ignored():
    assert read(b"  7\t\n8 \r\n00000000000000000000000000000000000009\n\t+00\n") == [7, 8, 9, 0]


def test_numbers_of_every_length_sign_and_line_end_are_read():
    text = "".join(f"{each}\n" for each in edges())

    assert read(text.encode()) == edges()
    signed = b"-1\n-9223372036854775808\n+5\n-0\n-18446744073709551615\n2"
    assert read(signed) == [ALL, 2**63, 5, 0, 1, 2]
    assert read(b"") == read(b"\n \n\r\n") == []


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


def test_lines_are_counted_across_blocks(monkeypatch):
    monkeypatch.setattr(programs, "BLOCK_BYTES", 5)

    with pytest.raises(InputError, match="line 1001 "):
        read(b"1\n" * 1000 + b"oops\n")


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
