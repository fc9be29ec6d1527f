"""Hugging Face: the survivors of a dataset, or of all splits of a dataset.

    from simdb.integrations import huggingface

    clean = huggingface.deduplicate(dataset, prefer="test").data

The splits are compared with each other, too: here, a row of "train" is removed if it nearly repeats
a row of "test".
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import datasets
import numpy as np

from simdb.checks import shown
from simdb.choices import ErrorsName, NullName, PolicyName, VerifyName
from simdb.database import Database
from simdb.deduplication import deduplicate as one_call
from simdb.deduplication.keeping import Keep
from simdb.deduplication.result import Deduplicated
from simdb.errors import InputError, OptionError
from simdb.minhash import Minhash
from simdb.options import Options, Simhash


def deduplicate(
    dataset: Any,
    *,
    prefer: str | Sequence[str] = (),
    text: str = "text",
    id: Any = None,
    keep: Keep = "first",
    similarity: float | None = None,
    distance: int | None = None,
    recall: float | None = None,
    verify: VerifyName = "exact",
    policy: PolicyName = "connected",
    db: Database | str | os.PathLike[str] | None = None,
    sketch: Simhash | Minhash | None = None,
    options: Options | None = None,
    on_null: NullName = "keep",
    errors: ErrorsName = "strict",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Deduplicated:
    """Return what `simdb.deduplicate` finds in a `Dataset`, or in all splits of a `DatasetDict`.

    `prefer` names the splits that come first; the others follow in the order of the dictionary.
    With keep="first", what is alike in two splits stays in the earlier one.  `data` is of the kind
    that was given, and `kept` has the rows of all splits in the order of the dictionary.  If you
    give neither `id` nor `db`, the ids of the rows of a `DatasetDict` are as "train/12".  Raises
    InputError for other data, and OptionError for an unknown split.
    """
    splits, names = dataset, []
    if isinstance(dataset, datasets.DatasetDict):
        names = _ordered(list(dataset), prefer)
        splits = datasets.DatasetDict({name: dataset[name] for name in names})
        if id is None and db is None:
            id = [f"{name}/{row}" for name in names for row in range(len(splits[name]))]
    elif not isinstance(dataset, datasets.Dataset):
        raise InputError(
            "dataset must be a datasets.Dataset or DatasetDict (simdb.deduplicate takes other"
            f" data), got {type(dataset).__name__}"
        )
    elif prefer:
        raise OptionError("prefer= names splits of a DatasetDict; a Dataset has none")
    found = one_call.deduplicate(
        splits, text=text, id=id, keep=keep, similarity=similarity, distance=distance,
        recall=recall, verify=verify, policy=policy, db=db, sketch=sketch, options=options,
        on_null=on_null, errors=errors, threads=threads, progress=progress,
    )  # fmt: skip
    return _in_order(found, dataset, names) if names else found


def _ordered(known: list[str], prefer: str | Sequence[str]) -> list[str]:
    """Return the names of all splits, the preferred ones first."""
    preferred = [prefer] if isinstance(prefer, str) else list(prefer)
    for name in preferred:
        if name not in known:
            raise OptionError(f"prefer= names the split {shown(name)}; the splits are {known}")
    return list(dict.fromkeys([*preferred, *known]))


def _in_order(found: Deduplicated, dataset: Any, names: list[str]) -> Deduplicated:
    """Return the result with the splits in the order of `dataset`, where `names` has another."""
    stops = np.cumsum([len(dataset[name]) for name in names])
    kept = dict(zip(names, np.split(found.kept, stops)[:-1], strict=True))
    data = type(dataset)({name: found.data[name] for name in dataset})
    return replace(found, data=data, kept=np.concatenate([kept[name] for name in dataset]))
