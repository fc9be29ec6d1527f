"""Pickles of the real package become databases; all other pickles are refused and run nothing.

record_datasketch.py says how the pickles were recorded.
"""

import io
import json
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path

import pytest
from over import over

import simdb
from simdb.compat.datasketch import MinHash, MinHashLSH
from simdb.compat.importing import import_datasketch, read_pickle

FOLDER = Path(__file__).parent / "datasketch"
RECORDED = json.loads((FOLDER / "values.json").read_text("ascii"))
SETS = [[word.encode() for word in words] for words in RECORDED["sets"]]
SCHEMES = {"1.6.5": "legacy", "2.0.0": "affine32"}
DICTS = ["dict-protocol0", "dict-protocol2", "dict-protocol5", "lean"]


@pytest.fixture(params=SCHEMES)
def version(request):
    return request.param


def recorded(name, version):
    return str(FOLDER / f"{name}-{version}.pickle")


def minhashes(version):
    return MinHash.bulk(SETS, num_perm=32, scheme=SCHEMES[version])


class Call:
    """An object whose pickle calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def written(tmp_path, content):
    path = tmp_path / "written.pickle"
    path.write_bytes(content)
    return str(path)


def test_an_index_answers_as_it_did_before(tmp_path, version) -> None:
    made = minhashes(version)

    imported = import_datasketch(recorded("index", version), tmp_path / "index")
    with MinHashLSH(path=tmp_path / "index", num_perm=32) as index:
        found = [sorted(index.query(each)) for each in made]
        index.insert("new", made[5])
        again = index.query(made[5])
        assert list(index.database.check()) == []

    # The bands of both schemes are of other hash values, and sets of no word are alike in both.
    kept = read_pickle(recorded("index", version))
    assert imported.documents == len(SETS)
    assert kept.values.tolist() == [each.hashvalues[: index.b * index.r].tolist() for each in made]
    assert version == "1.6.5" or found == RECORDED["candidates"]
    assert "new" in again


@over("name", DICTS)
def test_minhashes_by_key_keep_their_values(version, name) -> None:
    found = read_pickle(recorded(name, version))

    assert found.keys == ["d0", "d1", "d2"]
    assert found.values.tolist() == [each.hashvalues.tolist() for each in minhashes(version)[:3]]
    assert (found.scheme, found.seed, found.bands) == (SCHEMES[version], 1, None)


def test_minhashes_in_a_list_get_numbers_as_keys(tmp_path, version) -> None:
    imported = import_datasketch(recorded("list", version), tmp_path / "index", threshold=0.5)

    with MinHashLSH(path=tmp_path / "index") as index:
        found = index.query(minhashes(version)[2])

    assert (imported.bands, imported.rows) == (index.b, index.r)
    assert found == [2]


def test_a_pickle_that_runs_a_program_is_refused_and_runs_nothing(tmp_path) -> None:
    mark = tmp_path / "mark"
    content = pickle.dumps({"d": Call(os.system, f"touch {mark}")})

    with pytest.raises(simdb.InputError, match=r"names (posix|nt)\.system"):
        import_datasketch(written(tmp_path, content), tmp_path / "index")

    assert not mark.exists()
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Call(eval, "1"), r"builtin(s|__)\.eval"),
        (Call(open, "/etc/passwd"), r"io\.open|_io\.open"),
        (OrderedDict(), r"collections\.OrderedDict"),
        (Path("x"), r"pathlib"),
    ],
)
@pytest.mark.parametrize("protocol", range(6))
def test_other_names_are_refused(tmp_path, value, name, protocol) -> None:
    content = pickle.dumps([value], protocol)

    with pytest.raises(simdb.InputError, match=name):
        read_pickle(written(tmp_path, content))


def test_a_named_hash_function_is_not_imported(tmp_path) -> None:
    content = Path(recorded("list", "2.0.0")).read_bytes()
    content = content.replace(b"\x8c\x0bsha1_hash32", b"\x8c\x0bfarm_hash32")
    path = written(tmp_path, content)

    with pytest.raises(simdb.InputError, match=r"datasketch\.hashfunc\.farm_hash32"):
        read_pickle(path)
    found = read_pickle(path, ["datasketch.hashfunc.farm_hash32"])

    assert len(found.keys) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        pickle.dumps([]),
        pickle.dumps({}),
        pickle.dumps(5),
        pickle.dumps({"a": 1}),
        # A list that is given a state; an extension; a call of a text; objects from outside.
        b"\x80\x04]}b.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02X\x01\x00\x00\x00a)R.",
        b"\x80\x04K\x01Q.",
        b"\x80\x05\x97.",
        # Names that are allowed, used otherwise: a class or function as an object with a state.
        b"\x80\x02cnumpy\nndarray\nX\x01\x00\x00\x00ab.",
        b"\x80\x02cbuiltins\ngetattr\n}b.",
        b"\x80\x02cbuiltins\nset\nK\x05\x85R.",
        b"\x80\x02ccopyreg\n_reconstructor\nK\x05K\x05N\x87R.",
        b"\x80\x02cdatasketch.lsh\nMinHashLSH\n)\x81.",
        b"\x80\x02cdatasketch.lsh\nMinHashLSH\n)\x81}b.",
        b"\x80\x02]cdatasketch.minhash\nMinHash\n)\x81}ba.",
    ],
)
def test_an_invalid_pickle_is_refused_with_the_name_of_the_file(tmp_path, content) -> None:
    path = written(tmp_path, content)

    with pytest.raises(simdb.InputError, match=r"written\.pickle"):
        read_pickle(path)


@pytest.mark.parametrize("opcode", [b"\x8e", b"\x8d", b"\x96", b"\x95"])
def test_a_length_takes_no_memory_before_its_bytes_have_come(tmp_path, opcode) -> None:
    content = b"\x80\x05" + opcode + struct.pack("<Q", 2**40) + b"x."

    with pytest.raises(simdb.InputError):
        read_pickle(written(tmp_path, content))


@pytest.mark.parametrize(("start", "end"), [(b"}", b"Ns."), (b"\x8f(", b"\x90.")])
def test_tuples_too_deep_to_be_hashed_are_refused(tmp_path, start, end) -> None:
    """Python's own look-up of such a key overflows its stack and ends the process."""
    deep = b")" + b"\x85" * 200_000

    with pytest.raises(simdb.InputError):
        read_pickle(written(tmp_path, b"\x80\x04" + start + deep + end))


def test_one_object_meant_often_takes_no_memory(tmp_path) -> None:
    """After a list of three objects, the pickle refers 300,000 times to one object of the memo."""
    content = Path(recorded("list", "2.0.0")).read_bytes()
    refusals = []

    for place in range(2, 9):
        often = b"(" + (b"h" + bytes([place])) * 300_000 + b"e."
        with pytest.raises(simdb.InputError) as refused:
            read_pickle(written(tmp_path, content[:-1] + often))
        refusals.append(str(refused.value))

    assert any("many times its own size" in each for each in refusals)


def test_a_shape_that_does_not_fit_the_bytes_is_refused(tmp_path) -> None:
    content = Path(recorded("list", "2.0.0")).read_bytes()
    changed = content.replace(b"K \x85", b"K!\x85", 1)
    assert changed != content

    with pytest.raises(simdb.InputError):
        read_pickle(written(tmp_path, changed))


def test_every_flipped_byte_is_read_or_refused(tmp_path) -> None:
    content = Path(recorded("index", "2.0.0")).read_bytes()

    for position in range(0, len(content), 17):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        try:
            read_pickle(written(tmp_path, bytes(changed)))
        except simdb.InputError as error:
            assert "written.pickle" in str(error)  # noqa: PT017


def test_keys_and_schemes_that_a_database_cannot_store_are_refused(tmp_path) -> None:
    tuples = io.BytesIO(
        Path(recorded("index", "2.0.0")).read_bytes().replace(b"\x8c\x02d3", b"K\x03)")
    )

    with pytest.raises(simdb.InputError, match="affine64"):
        read_pickle(recorded("affine64", "2.0.0"))
    with pytest.raises(simdb.InputError):
        import_datasketch(written(tmp_path, tuples.read()), tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_an_index_has_its_bands_and_minhashes_their_seed(tmp_path) -> None:
    with pytest.raises(simdb.OptionError, match="has its own bands"):
        import_datasketch(recorded("index", "2.0.0"), tmp_path / "index", threshold=0.5)
    with pytest.raises(simdb.OptionError, match="have seed 1, not 2"):
        import_datasketch(recorded("list", "2.0.0"), tmp_path / "index", seed=2)
    assert not (tmp_path / "index").exists()


def test_an_existing_database_is_left_alone(tmp_path) -> None:
    import_datasketch(recorded("index", "2.0.0"), tmp_path / "index")

    with pytest.raises(simdb.ExistsError):
        import_datasketch(recorded("list", "2.0.0"), tmp_path / "index")

    with MinHashLSH(path=tmp_path / "index") as index:
        assert "d3" in index
