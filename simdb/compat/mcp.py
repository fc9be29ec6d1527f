"""MCP: a database as the memory of agents, by tools of the Model Context Protocol.

`server_of` makes the server of an open database, which `simdb mcp` runs.  The descriptions of the
tools are for a model that has never heard of simdb; they call documents notes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Annotated, Any, cast
from uuid import uuid4

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from simdb import __version__
from simdb.compat.notes import TOKEN, NoteFacts
from simdb.core.clusters import Cluster
from simdb.core.errors import Error, ExistsError, InputError, NotFoundError, OptionError
from simdb.core.matches import Match
from simdb.core.options import Simhash
from simdb.database import Database, Snapshot, WriteTransaction, similarity

INSTRUCTIONS = (
    "A memory of short notes that keeps each fact once. Call add_if_new for every fact worth"
    " remembering: it stores the note, or shows the stored note that says the same. Call nearest"
    " to recall what is stored about something."
)
# Number of nearest notes to compare first; if all are similar enough, more are compared.
COMPARED = 10
LIMIT_MAX = 100
Row = dict[str, Any]
Note = Annotated[str, Field(description="The note: a plain sentence or two, best 4 to 30 words.")]
NoteId = Annotated[str | int, Field(description="The id of a stored note, as other tools show it.")]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX, description="The most results to return.")]


def server_of(
    database: Database, *, read_only: bool = False, where: dict[str, Any] | None = None
) -> MCPServer:
    """Return a server with the tools of a database; `read_only`: without the storing tool.

    `where`: values of fields that all notes of the agent have; it sees no others.  Raises
    OptionError for a database without texts.
    """
    if not database.options.texts:
        raise OptionError(
            f"simdb mcp shows stored texts, and {database.path} was created without --texts; give"
            " the path of a new database"
        )
    server: MCPServer = MCPServer(
        "simdb", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    notes = _Notes(database, where)
    if not read_only:
        server.add_tool(_told(notes.add_if_new), annotations=ToolAnnotations(idempotent_hint=True))
    reading = ToolAnnotations(read_only_hint=True)
    for tool in (
        notes.check_duplicate, notes.nearest, notes.find_clusters, notes.explain, notes.stats
    ):  # fmt: skip
        server.add_tool(_told(tool), annotations=reading)
    return server


def _told(tool: Callable[..., Row]) -> Callable[..., Row]:
    """Wrap a tool so that its errors become tool errors with the same words."""

    @wraps(tool)
    def told(**arguments: Any) -> Row:
        try:
            return tool(**arguments)
        except ExistsError as error:
            raise ToolError("another note has this id; choose another, or leave it out") from error
        except Error as error:
            raise ToolError(str(error)) from error

    return told


class _Notes:
    """The tools: a method each, with the name and the description that a model sees."""

    def __init__(self, database: Database, where: dict[str, Any] | None) -> None:
        self._database, self._where = database, where

    def add_if_new(
        self,
        text: Note,
        id: Annotated[
            str | None, Field(description="A name for the note; one is made if it is left out.")
        ] = None,
        metadata: Annotated[
            Row | None, Field(description="Anything to keep with the note, such as its source.")
        ] = None,
    ) -> Row:
        """Store a note, unless a stored note says the same.

        Returns {"stored": true, "id": ...} if the note was new; it then survives a crash.
        Otherwise {"stored": false, "match": ...} with the id, similarity and text of the note that
        is there already: use that one.  Notes that differ in a number, a name or a "not" are
        not the same, and both are stored.  An id that another note has is an error.
        """
        if not TOKEN.search(text):
            raise InputError("a note needs words")
        with self._database.write() as state:
            same = self._same(state, text)
            if same:
                return {"stored": False, "match": same[0]}
            id = uuid4().hex if id is None else id
            state.insert(id, text, {**(metadata or {}), **self._where} if self._where else metadata)
        return {"stored": True, "id": id}

    def check_duplicate(self, text: Note, limit: Limit = 5) -> Row:
        """Tell whether a stored note says the same as this one, without storing anything.

        Returns {"is_duplicate": ..., "matches": [...]} with the id, similarity and text of each
        stored note that says the same, the most similar first.
        """
        with self._database.read() as state:
            same = self._same(state, text)[:limit]
        return {"is_duplicate": bool(same), "matches": same}

    def nearest(self, text: Note, k: Limit = 5) -> Row:
        """Find the stored notes whose words are most similar to this text, at any similarity.

        Use it to recall what is known: nearest(text="where does the user live").  It compares
        words, not meanings.  Returns {"notes": [...]} with id, similarity from 0 to 1, text and
        metadata, the most similar first.
        """
        with self._database.read() as state:
            return {"notes": _shown(state, self._near(state, text, k))}

    def find_clusters(self, limit: Limit = 20) -> Row:
        """Find groups of stored notes that say nearly the same, for tidying up.

        Returns {"clusters": [[note, ...], ...], "count": ...}: the largest groups, and the number
        of all groups.
        """
        with self._database.read() as state:
            found = list(_agreeing(state, state.find_clusters(where=self._where)))
        largest = sorted(found, key=len, reverse=True)[:limit]
        return {"clusters": [rows[:LIMIT_MAX] for rows in largest], "count": len(found)}

    def explain(
        self,
        text: Note,
        id: NoteId | None = None,
        other_text: Annotated[str | None, Field(description="A second note, not stored.")] = None,
    ) -> Row:
        """Explain whether and why a note says the same as another note.

        Give `id` for a stored note, or `other_text` for any text.  Returns is_duplicate, the
        similarity and the threshold it must reach, the words that only one of the two notes has,
        and the reason in words.
        """
        if (id is None) == (other_text is None):
            raise OptionError("give id or other_text, one of the two")
        options = self._database.options
        if id is not None:
            note = self._database.get(id)
            given = {} if note is None else note.metadata or {}
            if note is None or not (self._where or {}).items() <= given.items():
                raise NotFoundError(f"no note has the id {id!r}")
            other_text = note.text
        share = similarity(text, str(other_text), cast(Simhash, options.sketch))
        facts = [NoteFacts.of(each) for each in (text, str(other_text))]
        is_like, agree = share >= options.similarity, facts[0].agree(facts[1])
        words = [set(TOKEN.findall(each.lower())) for each in (text, str(other_text))]
        return {
            "is_duplicate": is_like and agree,
            "similarity": round(share, 3),
            "threshold": options.similarity,
            "only_in_text": sorted(words[0] - words[1]),
            "only_in_other": sorted(words[1] - words[0]),
            "reason": "the similarity is below the threshold" if not is_like else
            "they say the same" if agree else "numbers, negations or names differ",
        }  # fmt: skip

    def stats(self) -> Row:
        """Return the number of stored notes, their size in bytes, and the similarity threshold."""
        found = self._database.stats()
        return {
            "notes": found.document_count,
            "bytes": found.file_bytes,
            "threshold": self._database.options.similarity,
        }

    def _same(self, state: Snapshot | WriteTransaction, text: str) -> list[Row]:
        """Return the stored notes that say the same as a text, the most similar first.

        If all of the nearest notes are similar enough, more notes are compared.
        """
        facts, least, k = NoteFacts.of(text), self._database.options.similarity, COMPARED
        near = self._near(state, text, k)
        while len(near) == k and (near[-1].similarity or 0) >= least:
            k *= 4
            near = self._near(state, text, k)
        rows = _shown(state, [each for each in near if (each.similarity or 0) >= least])
        return [row for row in rows if facts.agree(NoteFacts.of(row["text"] or ""))]

    def _near(self, state: Snapshot | WriteTransaction, text: str, k: int) -> list[Match[Any]]:
        return state.nearest(text, k, texts=state.texts_many, where=self._where)


def _agreeing(state: Snapshot, clusters: Iterable[Cluster[Any]]) -> Iterator[list[Row]]:
    """Yield groups of two or more notes that are in the same cluster and agree."""
    for cluster in clusters:
        groups: list[tuple[NoteFacts, list[Row]]] = []
        for row in _rows(state, cluster.ids):
            own = NoteFacts.of(row["text"] or "")
            group = next((rows for first, rows in groups if first.agree(own)), None)
            if group is None:
                groups.append((own, group := []))
            group.append(row)
        yield from (rows for _, rows in groups if len(rows) > 1)


def _shown(state: Snapshot | WriteTransaction, found: Sequence[Match[Any]]) -> list[Row]:
    """Return the rows that a model sees for the notes that were found."""
    rows = _rows(state, [each.id for each in found])
    return [row | {"similarity": each.similarity} for row, each in zip(rows, found, strict=True)]


def _rows(state: Snapshot | WriteTransaction, ids: Sequence[Any]) -> list[Row]:
    """Return the rows that a model sees for stored notes; bytes as hexadecimal digits."""
    notes = zip(state.get_many(ids), state.texts_many(ids), strict=True)
    rows = [{"id": note.id, "text": text, "metadata": note.metadata} for note, text in notes]
    shown: list[Row] = json.loads(json.dumps(rows, default=bytes.hex))
    return shown
