"""MCP: a database as the memory of agents, by tools of the Model Context Protocol.

`server_of` makes the server of an open database, which `simdb mcp` runs.  The texts of the tools
are for a model that has never heard of simdb; documents are notes there.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Annotated, Any
from uuid import uuid4

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from simdb import __version__
from simdb.compat.notes import TOKEN, NoteFacts
from simdb.core.clusters import Cluster
from simdb.core.errors import Error, NotFoundError, OptionError
from simdb.core.options import Bits
from simdb.database import Database, Snapshot, WriteTransaction, similarity

INSTRUCTIONS = (
    "A memory of short notes that keeps each fact once. Call add_if_new for every fact worth"
    " remembering: it stores the note, or shows the stored note that says the same. Call nearest"
    " to recall what is stored about something."
)
# So many of the nearest notes can say the same; most are left out, since they say something else.
COMPARED = 10
LIMIT_MAX = 100
Row = dict[str, Any]
Note = Annotated[str, Field(description="The note: a plain sentence or two, best 4 to 30 words.")]
NoteId = Annotated[str | int, Field(description="The id of a stored note, as other tools show it.")]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX, description="The most results to return.")]


def server_of(database: Database, *, read_only: bool = False) -> MCPServer:
    """Return a server with the tools of a database; `read_only`: without the one that stores."""
    server: MCPServer = MCPServer(
        "simdb", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    notes = _Notes(database)
    if not read_only:
        server.add_tool(_told(notes.add_if_new), annotations=ToolAnnotations(idempotent_hint=True))
    reading = ToolAnnotations(read_only_hint=True)
    for tool in (
        notes.check_duplicate, notes.nearest, notes.find_clusters, notes.explain, notes.stats
    ):  # fmt: skip
        server.add_tool(_told(tool), annotations=reading)
    return server


def _told(tool: Callable[..., Row]) -> Callable[..., Row]:
    """Return a tool whose errors are tool errors, with the same words."""

    @wraps(tool)
    def told(**arguments: Any) -> Row:
        try:
            return tool(**arguments)
        except Error as error:
            raise ToolError(str(error)) from error

    return told


class _Notes:
    """The tools: a method each, with the name and the text that a model sees."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts = database.options.texts

    def add_if_new(
        self,
        text: Note,
        id: Annotated[
            str | None,
            Field(description="A name for the note; one is made if it is left out."),
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
        with self._database.write() as state:
            same = self._same(state, text)
            if same:
                return {"stored": False, "match": same[0]}
            id = uuid4().hex if id is None else id
            state.insert(id, text, metadata)
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
        """Find the stored notes whose words are most like this text, however like they are.

        Use it to recall what is known: nearest(text="where does the user live").  Words decide,
        not meanings.  Returns {"notes": [...]} with id, similarity from 0 to 1, text and metadata,
        the most similar first.
        """
        with self._database.read() as state:
            return {"notes": self._nearest(state, text, k)}

    def find_clusters(self, limit: Limit = 20) -> Row:
        """Find groups of stored notes that say nearly the same, for tidying up.

        Returns {"clusters": [[note, ...], ...], "count": ...}: the largest groups, and how many
        groups there are.
        """
        with self._database.read() as state:
            found = list(_agreeing(state, state.find_clusters()))
            largest = sorted(found, key=len, reverse=True)[:limit]
            clusters = [[_shown(state, id) for id in ids[:LIMIT_MAX]] for ids in largest]
        return {"clusters": clusters, "count": len(found)}

    def explain(
        self,
        text: Note,
        id: NoteId | None = None,
        other_text: Annotated[str | None, Field(description="A second note, not stored.")] = None,
    ) -> Row:
        """Say why a note says the same as another one or not: as a stored one, or as another text.

        Give `id` or `other_text`.  Returns is_duplicate, the similarity and the threshold it must
        reach, the words that only one of the two notes has, and the reason in words.
        """
        if (id is None) == (other_text is None):
            raise OptionError("give id or other_text, one of the two")
        options = self._database.options
        if id is not None:
            other_text = self._database[id].text
            if other_text is None:
                raise NotFoundError(f"no text is stored with {id!r}; give other_text")
        if isinstance(options.sketch, Bits):
            raise OptionError("the database holds hashes, and no texts to compare")
        share = similarity(text, str(other_text), options.sketch)
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
        """Return how many notes are stored, the bytes they take, and the similarity of the same."""
        found = self._database.stats()
        return {
            "notes": found.document_count,
            "bytes": found.file_bytes,
            "threshold": self._database.options.similarity,
        }

    def _same(self, state: Snapshot | WriteTransaction, text: str) -> list[Row]:
        """Return the stored notes that say the same as a text, the most similar first."""
        facts = NoteFacts.of(text)
        near = self._nearest(state, text, COMPARED, self._database.options.similarity)
        return [
            each for each in near
            if each["text"] is None or facts.agree(NoteFacts.of(each["text"]))
        ]  # fmt: skip

    def _nearest(
        self, state: Snapshot | WriteTransaction, text: str, k: int, least: float = 0.0
    ) -> list[Row]:
        texts = state.texts_many if self._texts else None
        return [
            _shown(state, each.id) | {"similarity": each.similarity}
            for each in state.nearest(text, k, texts=texts)
            if each.similarity is not None and each.similarity >= least
        ]


def _agreeing(state: Snapshot, clusters: Iterable[Cluster[Any]]) -> Iterator[list[Any]]:
    """Yield the members of clusters whose notes agree with the first of them, two or more."""
    for cluster in clusters:
        facts: list[tuple[NoteFacts, list[Any]]] = []
        for id in cluster.ids:
            own = NoteFacts.of(_shown(state, id)["text"] or "")
            group = next((ids for first, ids in facts if first.agree(own)), None)
            if group is None:
                facts.append((own, [id]))
            else:
                group.append(id)
        yield from (ids for _, ids in facts if len(ids) > 1)


def _shown(state: Snapshot | WriteTransaction, id: Any) -> Row:
    """Return what a model sees of a stored note."""
    note = state.get(id)
    return {"id": id, "text": note and note.text, "metadata": note and note.metadata}
