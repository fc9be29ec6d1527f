"""The type of a document has what the verbs take; a type checker finds anything else."""

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from type_checking import checked

import simdb

VERBS = """\


def use{at}(database: simdb.Database, document: {kind}) -> None:
    database.query(document)
    database.first(document)
    database.nearest(document)
    database.explain(1, document=document)
    database.insert(1, document)
    database.add_if_new(1, document)
    with database.read() as snapshot, database.write() as transaction:
        snapshot.query(document)
        transaction.insert(1, document)
        transaction.add_if_new(1, document)
    with simdb.open_sharded("shards") as sharded:
        sharded.query(document)
        sharded.first(document)
        sharded.nearest(document)
"""
DOCUMENTS = [
    "str", "bytes", "list[str]", "list[bytes]", "tuple[str, ...]", "simdb.Features",
    "simdb.Fingerprint", "simdb.Signature", "npt.NDArray[np.float32]", "npt.NDArray[np.float64]",
    "int", "np.uint64", "simdb.DocumentLike",
]  # fmt: skip
OTHERS = ["float", "object", "dict[str, str]", "npt.NDArray[np.int64]", "list[int]", "list[float]"]


def test_every_kind_of_document_is_taken_and_what_is_none_is_found_in_every_verb(tmp_path):
    program = "import numpy as np\nimport numpy.typing as npt\n\nimport simdb\n" + "".join(
        VERBS.format(kind=kind, at=at) for at, kind in enumerate([*DOCUMENTS, *OTHERS])
    )

    errors = checked(tmp_path, program)

    wrong = [line for line in errors if " error: " in line]
    found = Counter(line.split('incompatible type "')[1].split(";")[0] for line in wrong)
    assert len(found) == len(OTHERS)
    assert set(found.values()) == {VERBS.count("document)\n")}


def test_at_run_time_the_type_names_its_members(database):
    named = get_args(simdb.DocumentLike)

    assert {str, bytes, int, simdb.Features, simdb.Fingerprint, simdb.Signature} <= set(named)
    for document in (3.5, {"text": "a"}, np.zeros(3, np.int64)):
        with pytest.raises(simdb.InputError):
            database.query(document)
