"""Frames: the accessor `simdb` of a DataFrame, for pandas and polars."""

import os
from collections.abc import Callable
from typing import Any

from simdb.choices import ErrorsName, NullName, PolicyName, VerifyName
from simdb.database import Database
from simdb.deduplication.deduplicate import deduplicate
from simdb.deduplication.keeping import Keep
from simdb.deduplication.result import Deduplicated
from simdb.minhash import Minhash
from simdb.options import Options, Simhash


class FrameAccessor:
    """The verbs of simdb on a DataFrame: `frame.simdb.drop_duplicates("text")`."""

    def __init__(self, frame: Any) -> None:
        """Take the DataFrame, which stays as it is."""
        self._frame = frame

    def drop_duplicates(
        self,
        text: str = "text",
        *,
        keep: Keep = "first",
        similarity: float | None = None,
        policy: PolicyName = "connected",
        on_null: NullName = "keep",
        threads: int | None = None,
    ) -> Any:
        """Return a DataFrame without the rows whose `text` nearly repeats that of another row.

        The arguments are those of `simdb.deduplicate`.
        """
        return self.deduplicate(
            text, keep=keep, similarity=similarity, policy=policy, on_null=on_null, threads=threads
        ).data

    def deduplicate(
        self,
        text: str = "text",
        *,
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
        """Return what `simdb.deduplicate` finds in the DataFrame."""
        return deduplicate(
            self._frame, text=text, id=id, keep=keep, similarity=similarity, distance=distance,
            recall=recall, verify=verify, policy=policy, db=db, sketch=sketch, options=options,
            on_null=on_null, errors=errors, threads=threads, progress=progress,
        )  # fmt: skip
