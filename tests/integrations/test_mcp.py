"""`simdb mcp`, driven over standard input and output by the client of the protocol's own SDK."""

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import simdb
from simdb import cli
from simdb.compat.notes import NOTES, NoteFacts

pytest.importorskip("mcp", reason="needs the package mcp: pip install mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from simdb.compat import mcp as mcp_module

TEA = "The user prefers tea over coffee in the morning"
AGENTS, NOTES_EACH, KILLS = 3, 8, 3
LABELLED = Path(__file__).with_name("notes.jsonl").read_text(encoding="utf-8").splitlines()


@asynccontextmanager
async def agent(path, *options):
    """Start `simdb mcp` as an agent does, and connect to it."""
    arguments = ["-m", "simdb", "mcp", str(path), *options]
    parameters = StdioServerParameters(command=sys.executable, args=arguments)
    async with Client(stdio_client(parameters)) as client:
        yield client


async def called(client, tool, **arguments):
    """Return what a tool answers, or the text of its error."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    return text if result.is_error else json.loads(text)


def test_the_tools_are_those_of_the_contract_and_each_says_what_it_takes(tmp_path):
    async def tools(*options):
        async with agent(tmp_path / "notes", *options) as client:
            return (await client.list_tools()).tools

    every, reading = asyncio.run(tools()), asyncio.run(tools("--read-only"))

    names = ["add_if_new", "check_duplicate", "nearest", "find_clusters", "explain", "stats"]
    assert [tool.name for tool in every] == names
    assert [tool.name for tool in reading] == names[1:]
    for tool in every:
        assert len(tool.description) > 50
        given = tool.input_schema["properties"].values()
        assert all("description" in each or "anyOf" in each for each in given)


def test_a_note_is_stored_once_and_is_shown_to_who_says_it_again(tmp_path):
    async def talk():
        async with agent(tmp_path / "notes") as client:
            new = await called(client, "add_if_new", text=TEA, id="tea", metadata={"by": "a"})
            again = await called(client, "add_if_new", text=TEA.replace("over", "to"))
            other = await called(client, "add_if_new", text=TEA.replace("prefers", "never wants"))
            checked = await called(client, "check_duplicate", text=TEA.lower())
            near = await called(client, "nearest", text="tea", k=1)
            stats = await called(client, "stats")
            return new, again, other, checked, near, stats

    new, again, other, checked, near, stats = asyncio.run(talk())

    assert new == {"stored": True, "id": "tea"}
    assert not again["stored"]
    assert again["match"]["text"] == TEA
    assert again["match"]["metadata"] == {"by": "a"}
    assert other["stored"]
    assert checked["is_duplicate"]
    assert [each["id"] for each in checked["matches"]] == ["tea"]
    assert near["notes"][0]["text"].startswith("The user")
    assert stats["notes"] == 2
    with simdb.open(tmp_path / "notes", "r") as database:
        assert database["tea"].text == TEA
        assert database.options.sketch == NOTES.sketch
        assert database.options.similarity == NOTES.similarity


def test_reasons_groups_and_errors_are_in_words(tmp_path):
    with simdb.open(tmp_path / "notes", options=NOTES) as database:
        for number, end in enumerate(["on Monday", "on Monday!", "on Tuesday", "on monday"]):
            database.insert(number, f"The report for the board of Ostrand is due {end}")

    async def talk():
        async with agent(tmp_path / "notes", "--read-only") as client:
            asked = {"text": "The report for the board of Ostrand is due on Tuesday"}
            return [
                await called(client, "explain", **asked, id=0),
                await called(client, "explain", **asked, id=2),
                await called(client, "explain", **asked, other_text="Something else"),
                await called(client, "find_clusters"),
                await called(client, "explain", **asked),
                await called(client, "explain", **asked, id=9),
                await called(client, "nearest", text="\ud800".encode("utf-8", "replace").decode()),
                await called(client, "add_if_new", text="a note"),
                await called(client, "nearest", text=3),
            ]

    differ, equal, unlike, clusters, neither, unknown, *_, absent, wrong = asyncio.run(talk())

    assert differ["reason"] == "numbers, negations or names differ"
    assert (differ["only_in_text"], differ["only_in_other"]) == (["tuesday"], ["monday"])
    assert equal["is_duplicate"]
    assert unlike["reason"] == "the similarity is below the threshold"
    assert clusters["count"] == 1
    assert [note["id"] for note in clusters["clusters"][0]] == [0, 1, 3]
    assert "give id or other_text" in neither
    assert "9" in unknown
    assert "add_if_new" in absent
    assert "string" in wrong


def test_an_agent_sees_the_notes_of_its_tenant_only(tmp_path):
    async def tell(tenant):
        async with agent(tmp_path / "notes", "--where", f"tenant={tenant}") as client:
            stored = await called(client, "add_if_new", text=TEA, id=tenant, metadata={"n": 1})
            near = await called(client, "nearest", text=TEA)
            other = await called(client, "explain", text=TEA, id="a")
            return stored, [note["id"] for note in near["notes"]], other

    first, second = asyncio.run(tell("a")), asyncio.run(tell("b"))

    assert [first[:2], second[:2]] == [
        ({"stored": True, "id": each}, [each]) for each in ("a", "b")
    ]  # fmt: skip
    assert first[2]["is_duplicate"]
    assert "no note has the id 'a'" in second[2]
    with simdb.open(tmp_path / "notes", "r") as database:
        assert database["b"].metadata == {"n": 1, "tenant": "b"}


def test_many_notes_that_say_something_else_hide_none(tmp_path, monkeypatch):
    told = "In the cellar the sensor 7 was reading 30 degrees"
    with simdb.open(tmp_path / "notes", options=NOTES) as database:
        tools = mcp_module._Notes(database, None)
        assert tools.add_if_new(told, "told")["stored"]
        for number in range(100, 130):
            database.insert(number, f"In the cellar the sensor {number} was reading 30 degrees")
            database.insert(f"again {number}", told, {"raw": b"\xff"})

        assert not tools.add_if_new(told)["stored"]
        found = tools.check_duplicate(told, limit=100)["matches"]
        clusters = tools.find_clusters()["clusters"]

    assert len(found) == 31
    assert {note["text"] for note in found} == {told}
    assert found[-1]["metadata"] == {"raw": "ff"}
    assert [len(each) for each in clusters] == [31]


def test_what_no_memory_can_be_is_refused(tmp_path):
    with (
        simdb.open(tmp_path / "plain") as database,
        pytest.raises(simdb.OptionError, match="created without --texts"),
    ):
        mcp_module.server_of(database)
    with simdb.open(tmp_path / "notes", options=NOTES) as database:
        tools = mcp_module._Notes(database, None)
        with pytest.raises(simdb.InputError, match="needs words"):
            tools.add_if_new(" !? ")


@pytest.mark.parametrize(
    ("left", "right", "agrees"),
    [
        ("she lives in Berlin now", "she lives in Bern now", False),
        ("due on 2026-01-02", "due on 2026-02-01", False),
        ("it was -5 degrees", "it was 5 degrees", False),
        ("add \u00bd cup", "add \u00bc cup", False),
        ("meet at 7am", "meet at 8am", False),
        ("use Server A1 today", "use Server B1 today", False),
        ("my name is \u00d6zil", "my name is \u00dcnal", False),
        ("meet on Tue at noon", "meet on Tuesday at noon", True),
        ("it takes three days", "it takes 3 days", True),
        ("I don't know", "I do not know", True),
    ],
)
def test_facts_agree(left, right, agrees):
    assert NoteFacts.of(left).agree(NoteFacts.of(right)) is agrees


def test_agents_at_once_store_each_note_once(tmp_path):
    async def work():
        async def tell(name):
            async with agent(tmp_path / "notes") as client:
                return [
                    await called(client, "add_if_new", text=text, id=f"{name}/{at}")
                    for at, text in enumerate(texts)
                ]

        return await asyncio.gather(*map(tell, range(AGENTS)))

    cities = ("Aberdeen", "Bergen", "Cadiz", "Dublin", "Essen", "Florence", "Ghent", "Hull")
    texts = [f"The next meeting of the board of the company is in {city}" for city in cities]
    answers = asyncio.run(work())

    stored = [answer["id"] for row in answers for answer in row if answer["stored"]]
    assert len(stored) == NOTES_EACH
    with simdb.open(tmp_path / "notes", "r") as database:
        assert sorted(database) == sorted(stored)
        assert {database[id].text for id in stored} == set(texts)


def test_what_was_acknowledged_outlives_a_kill(tmp_path):
    path = tmp_path / "notes"
    told = []

    async def work(at):
        arguments = ["-m", "simdb", "mcp", str(path)]
        server = await asyncio.create_subprocess_exec(
            sys.executable, *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip

        async def ask(id, method, **parameters):
            line = {"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}
            server.stdin.write(json.dumps(line).encode() + b"\n")
            return json.loads(await server.stdout.readline())

        client = {"name": "test", "version": "1"}
        await ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for number in range(1, 4):
            text = f"{at * 10 + number} parcels were sent to the warehouse of Penby"
            note = {"text": text, "id": text}
            answer = await ask(number, "tools/call", name="add_if_new", arguments=note)
            assert answer["result"]["structuredContent"]["stored"]
            told.append(text)
        os.kill(server.pid, signal.SIGKILL)
        await server.wait()

    for at in range(KILLS):
        asyncio.run(work(at))

    with simdb.open(path, "r") as database:
        assert {id: database[id].text for id in database} == {text: text for text in told}
        assert list(database.check()) == []


def test_without_the_package_an_error_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(sys.modules, "simdb.compat.mcp", raising=False)
    with pytest.raises(simdb.OptionError, match="pip install mcp"):
        cli.mcp.mcp(str(tmp_path / "notes"))
    assert not (tmp_path / "notes").exists()


def test_labelled_notes_are_told_apart():
    """The set is fixed: .91 of the same notes are found, and .87 of what is found is right."""
    found = same = right = 0
    for line in LABELLED:
        pair = json.loads(line)
        left, right_note = pair["left"], pair["right"]
        share = simdb.similarity(left, right_note, NOTES.sketch)
        says_same = share >= NOTES.similarity and NoteFacts.of(left).agree(NoteFacts.of(right_note))
        found += says_same
        same += pair["same"]
        right += says_same and pair["same"]

    assert same == 100
    assert right / same >= 0.91
    assert right / found >= 0.86
