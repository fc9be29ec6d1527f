"""Repeats: repeats deduplication with a database, and compares it with a dict and loops.

A world is one database with features or texts, which decide everything, and some inputs.  Inputs
are repeated: changed, grown, or in another order.  Before that, documents may be deleted or
replaced, the database moved, or a process killed.  A call is `deduplicate`, of rows or of a file,
or the command; some have `against=` or `unit=`.  The oracle says which rows are kept and what is
stored then.  Any of several matches may be reported, but a repeated run must report the same one.
"""

import json
import random
import shutil
import time
from contextlib import suppress
from functools import cache, partial
from itertools import count
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from soundness import assert_sound

import simdb
from cases import Child
from simdb.cli.app import app
from simdb.cli.options import intake
from simdb.jobs.deduplication import claims

WORDS = [f"w{number}" for number in range(60)]
RULES = ["first", "last", "longest", "shortest", "max:n", "min:n"]
SIMILARITIES = [0.5, 0.7, 0.8, 0.8]
SHINGLE, LEAST_WORDS, LONGEST_SECONDS = 2, 5, 0.2
KEPT, SEEN, LEFT, NEW = "kept again", "seen before", "left out again", "compared"


def run(case):
    World(case).run(case)


@cache
def shingles(text):
    words = text.split()
    if 0 < len(words) < SHINGLE:
        return {tuple(words)}
    return {tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}


def jaccard(one, two):
    every = shingles(one) | shingles(two)
    return len(shingles(one) & shingles(two)) / len(every) if every else 0.0


class World:
    """A database and its oracle: `stored` texts by id, and of each run what it kept and left."""

    def __init__(self, case):
        """Make the database and draw its first texts."""
        self.chance = chance = random.Random(case.seed)
        self.folder, self.path = case.folder, case.folder / "db"
        self.sketch = chance.choice([simdb.Simhash, simdb.Minhash])(shingle=SHINGLE)
        self.bits = cache(self._bits)
        self.stored, self.runs, self.owners, self.found = {}, {}, {}, case.counts
        self.texts = [self.text() for _ in range(chance.choice([2, 8]))]
        self.inputs = {f"in{number}.jsonl": [] for number in range(3)}
        self.number = 0
        claims.CLAIMED_ROWS, intake.BATCH_DOCUMENTS = chance.choices([1, 3, 1 << 12], k=2)
        delta = chance.choice([2, 16, 4096])
        decides = {chance.choice(["features", "texts"]): True}
        made = simdb.Options(sketch=self.sketch, delta_documents=delta, **decides)
        simdb.open(self.path, options=made).close()

    def _bits(self, text):
        if isinstance(self.sketch, simdb.Simhash):
            return simdb.fingerprint(text, self.sketch).bits
        return np.asarray(simdb.signature(text, self.sketch).minima).tobytes()

    def text(self):
        return " ".join(self.chance.choices(WORDS, k=self.chance.choice([1, 12, 30, 30])))

    def some_text(self):
        """Draw a text: null, empty, new, or an earlier text with some changed words."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.08:
            return None if kind < 0.05 else ""
        if kind < 0.2:
            self.texts.append(self.text())
        words = chance.choice(self.texts).split()
        for _ in range(chance.choice([0, 0, 1, 2, 6])):
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        self.texts.append(" ".join(words))
        return self.texts[-1]

    def row(self):
        self.number += 1
        order = self.chance.randrange(6) if self.chance.random() < 0.9 else None
        return {"id": f"d{self.number}", "text": self.some_text(), "n": order}

    def rule(self, rows):
        has_values = any(row["n"] is not None for row in rows)
        return self.chance.choice(RULES if has_values else RULES[:4])

    def run(self, case):
        """Change inputs and the database, and deduplicate."""
        verbs = [self.dedup] * 5 + [self.change, self.against, self.parts, self.move]
        for number in range(case.steps):
            name = self.chance.choice(list(self.inputs))
            self.edit(self.inputs[name])
            verb = self.chance.choice(verbs)
            case.step(number, verb.__name__)
            verb(name)
        assert_sound(self.path)

    def edit(self, rows):
        """Let an input grow, shrink or change, or do nothing."""
        chance = self.chance
        kind = chance.random() if rows else 0.0
        if kind < 0.4:
            rows += [self.row() for _ in range(chance.choice([1, 3, 12]))]
        elif kind < 0.5:
            rows.append({**chance.choice(rows), "n": chance.randrange(6)})
        elif kind < 0.55:
            changed, text = chance.choice(rows)["id"], self.some_text()
            rows[:] = [{**row, "text": text} if row["id"] == changed else row for row in rows]
        elif kind < 0.65:
            chance.shuffle(rows)
        elif kind < 0.7:
            del rows[chance.randrange(len(rows))]

    def change(self, _):
        """Delete documents, and give others another text."""
        ids = self.chance.sample(list(self.stored), min(3, len(self.stored)))
        with simdb.open(self.path) as database:
            database.delete_many(ids[1:])
            for id in ids[:1]:
                self.stored[id] = self.some_text() or ""
                database.insert(id, self.stored[id], on_conflict="replace")
        for id in ids[1:]:
            del self.stored[id]

    def move(self, _):
        """Replace the database by a copy, by a loaded dump or by the compacted database."""
        other, kind = self.folder / "other", self.chance.choice(["copy", "dump", "compact"])
        with simdb.open(self.path) as database:
            if kind == "compact":
                database.compact()
                return
            getattr(database, kind)(other)
        shutil.rmtree(self.path)
        if kind == "dump":
            simdb.load(other, self.path)
            other.unlink()
        else:
            other.rename(self.path)

    def against(self, name):
        """Compare with another input, or with the database; nothing is stored."""
        rows, reference = self.inputs[name], self.path
        texts = list(self.stored.values())
        if self.chance.random() < 0.5:
            reference = self.inputs[self.chance.choice(list(self.inputs))]
            texts = [row["text"] for row in reference if row["text"] is not None]
        rule, similarity = self.rule(rows), self.chance.choice(SIMILARITIES)
        found = simdb.deduplicate(
            rows, against=reference, keep=rule, similarity=similarity, recall=1.0,
            sketch=None if reference is self.path else self.sketch,
        )  # fmt: skip
        stays = staying(rows, preferred(rows, rule), texts, similarity)
        kept = [row["text"] is None or at in stays for at, row in enumerate(rows)]
        assert found.kept.tolist() == kept, (rule, similarity, reference)

    def parts(self, name):
        """Drop lines that occurred before, here or in another run."""
        texts = [row["text"] for row in self.inputs[name]]
        texts = [None if text is None else text.replace(" w7", "\nw7") for text in texts]
        found = simdb.deduplicate(texts, unit="line", db=self.path, run=name)
        left, seen = [], set()
        for text in texts:
            rest = []
            for line in [] if text is None else text.split("\n"):
                words = tuple(line.split())
                is_long = len(words) >= LEAST_WORDS
                if is_long and (words in seen or self.owners.get(words, name) != name):
                    continue
                seen |= {words} if is_long else set()
                rest.append(line)
            left += [None] if text is None else ["\n".join(rest)] if rest else []
        self.owners |= dict.fromkeys(seen, name)
        assert found.data == left, (found.data, left)

    def dedup(self, name):
        """Deduplicate an input with the database; sometimes a first call is killed."""
        chance, rows = self.chance, self.inputs[name]
        how = {"keep": self.rule(rows), "similarity": chance.choice(SIMILARITIES)}
        how |= {"on_null": chance.choice(["keep", "keep", "drop"])}
        how |= {"run": chance.choice([None, None, "one", "two"])}
        way = chance.choice(["rows", "rows", "file", "command"])
        data = rows if way == "rows" else self.written(name)
        call = partial(self.command if way == "command" else self.deduplicate, data, how)
        expected = self.expected(rows, way == "command", name, how)
        if chance.random() < 0.15:
            killed(call, chance.uniform(0, LONGEST_SECONDS))
            with simdb.open(self.path) as database:
                found, before = set(database), set(self.stored)
            after = before | set(expected["new"] if expected else ())
            assert found in (before, after), "a killed run has stored a part"
            self.found["killed before the commit" if found == before else "killed after it"] += 1
        if expected is None:
            with suppress(simdb.ExistsError, simdb.InputError):
                raise AssertionError(f"an id with two texts is taken: {call()}")
            self.found["refused"] += 1
        else:
            kept, matches = call()
            wanted = [how["on_null"] == "keep" if row["text"] is None else at in expected["kept"]
                      for at, row in enumerate(rows)]  # fmt: skip
            assert kept == wanted, f"{way} {how}: kept {kept}, not {wanted}: {expected}"
            self.judge(rows, expected, matches, how["similarity"])
            self.adopt(rows, expected, matches)
        with simdb.open(self.path, "r") as database:
            assert set(database) == set(self.stored), f"{way} {how}"
            if database.options.texts:
                assert database.texts_many(list(self.stored)) == list(self.stored.values())

    def expected(self, rows, is_command, name, how):
        """Return which rows are kept and why, or None if the call must be refused."""
        order = preferred(rows, how["keep"])
        ids = name if is_command else frozenset(rows[at]["id"] for at in order)
        run, least = how["run"] or ids, how["similarity"]
        note = self.runs.get(run, {"kept": set(), "left": {}, "rule": least})
        left = note["left"] if note["rule"] == least else {}
        ids, becomes, taken, firsts = {}, {}, set(), {}
        for at in sorted(order) if is_command else order:
            id, text = rows[at]["id"], rows[at]["text"]
            first = at if is_command else firsts.setdefault(id, at)
            if self.bits(rows[first]["text"]) != self.bits(text):
                return None
            if first != at:
                continue
            for own in names(id, self.folder / name, at + 1) if is_command else [id]:
                becomes[at] = self.becomes(own, text, note["kept"], left, taken)
                ids[at] = own
                if becomes[at]:
                    break
            if not becomes[at]:
                return None
        fresh = [at for at in order if becomes.get(at) == NEW]
        stays = staying(rows, fresh, self.stored.values(), least)
        new = {ids[at]: rows[at]["text"] for at in stays}
        kept = stays | {at for at, each in becomes.items() if each == KEPT}
        return {"run": run, "ids": ids, "becomes": becomes, "kept": kept, "new": new,
                "left": left, "rule": least}  # fmt: skip

    def becomes(self, id, text, kept, left, taken):
        """Return the fate of a document under an id, "" if another document has the id.

        `kept`, `left`: documents that the run kept and removed before.  `taken`: ids in use.
        """
        is_same = id in self.stored and self.bits(self.stored[id]) == self.bits(text)
        match, bits, _ = left.get((id, text), (None, None, None))
        becomes = ""
        if is_same and id in kept and id not in taken:
            becomes = KEPT
        elif match in self.stored and self.bits(self.stored[match]) == bits and id not in taken:
            becomes = LEFT
        elif is_same and id not in kept:
            return SEEN
        elif id not in self.stored and id not in taken:
            becomes = NEW
        taken |= {id} if becomes else set()
        return becomes

    def judge(self, rows, expected, matches, least):
        """Assert that a removed row matches a kept document, the same one as before."""
        every = {**self.stored, **expected["new"]}
        for at, id in expected["ids"].items():
            self.found[expected["becomes"][at]] += 1
            if at in expected["kept"] or expected["becomes"][at] == SEEN:
                continue
            match, similarity = matches[id]
            exact = jaccard(rows[at]["text"], every[match])
            if expected["becomes"][at] == LEFT:
                before, _, exact = expected["left"][id, rows[at]["text"]]
                assert before == match, f"{id} matches {match}, and matched {before} before"
            assert exact >= least, (id, match, exact)
            assert abs(similarity - exact) < 1e-5, (id, match, exact, similarity)

    def adopt(self, rows, expected, matches):
        """Let the oracle store the documents that the call has stored."""
        self.stored |= expected["new"]
        out = [at for at, each in expected["becomes"].items()
               if each == NEW and at not in expected["kept"]]  # fmt: skip
        note = self.runs.setdefault(
            expected["run"], {"kept": set(), "left": {}, "rule": expected["rule"]}
        )
        if out or expected["new"]:
            note["rule"], note["left"] = expected["rule"], dict(expected["left"])
        note["kept"] |= set(expected["new"])
        for at in out:
            id, text = expected["ids"][at], rows[at]["text"]
            match, similarity = matches[id]
            note["left"][id, text] = match, self.bits(self.stored[match]), similarity

    def deduplicate(self, data, how):
        found = simdb.deduplicate(data, id="id", db=self.path, recall=1.0, **how)
        matches = zip(found.representatives.tolist(), found.similarities.tolist(), strict=True)
        return found.kept.tolist(), dict(zip(found.removed_ids.tolist(), matches, strict=True))

    def command(self, source, how):
        given = ["dedup", source, "--db", self.path, "-o", self.folder / "kept.jsonl"]
        given += ["--groups", self.folder / "groups.jsonl", "--recall", 1]
        for option, value in how.items():
            given += [] if value is None else [f"--{option.replace('_', '-')}", value]
        ended = CliRunner().invoke(app, list(map(str, given)))
        assert ended.exit_code == 0, f"{ended.stderr}{ended.exception!r}"
        kept, matches = (
            [json.loads(line) for line in (self.folder / each).read_text().splitlines()]
            for each in ("kept.jsonl", "groups.jsonl")
        )
        places = {row["place"] for row in kept}
        told = {row["id"]: (row["match"], row["similarity"]) for row in matches}
        return [at in places for at in range(len(self.inputs[source.name]))], told

    def written(self, name):
        rows = [{**row, "place": at} for at, row in enumerate(self.inputs[name])]
        (self.folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return Path(self.folder / name)


def staying(rows, order, texts, least):
    """Return the positions of rows that match neither one of the texts nor a kept row."""
    held, stays = list(texts), set()
    for at in order:
        if all(jaccard(rows[at]["text"], other) < least for other in held):
            held.append(rows[at]["text"])
            stays.add(at)
    return stays


def preferred(rows, rule):
    """Return the positions of rows with texts, the preferred first; of equal ones the first."""
    word, _, field = rule.partition(":")
    sign = -1 if word in ("longest", "max", "last") else 1
    order = [at for at, row in enumerate(rows) if row["text"] is not None]
    if word in ("first", "last"):
        return order[::sign]
    values = [row[field] if field else len(row["text"] or "") for row in rows]
    return sorted(order, key=lambda at: (values[at] is None, sign * (values[at] or 0)))


def names(id, source, line):
    """Yield the ids that a document of a file can have, as the manual of `dedup` says."""
    yield from (id, f"{source}:{id}", f"{source}:{line}:{id}")
    yield from (f"{source}:{line}:{id}#{number}" for number in count(2))


def killed(call, seconds):
    """Make the call in a process that is killed, unless it ends or is refused before."""

    def work():
        with suppress(simdb.ExistsError, simdb.InputError):
            call()

    child = Child(work)
    time.sleep(seconds)
    child.kill()
