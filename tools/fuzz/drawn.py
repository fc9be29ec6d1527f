"""Drawn: draws options, documents, ids and criteria, for small and for large databases.

`Few` draws for a database that begins empty and stays small enough to compare all of it; `Many` for
thousands to millions of documents, of which a sample is compared.
"""

import numpy as np

import simdb

WORDS = [f"word{number}" for number in range(40)]
WORDS += ["\u00e9t\u00e9", "\u9ed1\u767d", "\U0001f600", "I"]
CENTRES = (0, 2**64 - 1, 0x0123456789ABCDEF, 0x0123456789ABCDEF ^ (0xFF << 28))
SHAPES = ((1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (5, 2), (6, 3), (7, 7), (13, 1), (64, 1))
ODD_IDS = (-1, 2**63 - 1, -(2**63), 2**64 - 1, "a", "\u00e9\U0001f600", "a\0b", b"a", b"\xff\xfe")
ODD_IDS = (*ODD_IDS, "1", b"1")
LARGE = 50_000  # with more documents, none is compared with all others, which takes hours
MANY_WORDS = [f"w{number}" for number in range(5000)]
TEXT_WORDS = 20
COPIES = 3  # of one base text, in the mean
EDITS = (0, 0, 1, 2, 4)
CROWD = 1200  # equal documents, if there are many documents
RANKS = 40
EMPTY, BARE, WEIGHTED = 0, 1, 2  # kinds of documents


def some_simhash(chance):
    return simdb.Simhash(
        shingle=chance.randint(1, 3),
        unit=chance.choice(["words", "words", "whitespace", "characters"]),
        by_character=chance.choice(["spaceless", "spaceless", "cjk"]),
        **some_cleaning(chance),
        weighting=chance.choice(["binary", "tf", "log-tf", "tf-idf", "log-tf-idf"]),
        dimensions=chance.choice([64, 128, 256]),
        store_volatility=chance.random() < 0.8,
        seed=chance.randrange(3),
    )


def some_cleaning(chance):
    """Draw options that make texts equal that look equal."""
    lowercase, clean = chance.random() < 0.7, chance.random() < 0.8
    return {
        "lowercase": lowercase,
        "clean": clean,
        "normalisation": chance.choice(["none", "nfc", "nfc", "nfkc", "lenient"]),
        "edition": chance.choice([1, 2, 2]),
        "marks": chance.choice(["keep", "keep", "keep", "drop"]),
        "turkic_case": lowercase and clean and chance.random() < 0.2,
    }


def some_minhash(chance):
    weighting = chance.choice(["set", "set", "bag", "tf", "tf-idf"])
    families = ["stratified", "multiply-shift", "mersenne", "one-permutation"]
    return simdb.Minhash(
        shingle=chance.randint(1, 2),
        weighting=weighting,
        permutations=chance.choice([16, 24, 64, 128]),
        **some_cleaning(chance),
        stored_bits=chance.choice([1, 2, 8, 32]),
        family=chance.choice(families) if weighting in ("set", "bag") else families[0],
        feature_bits=chance.choice([32, 64]),
        seed=chance.randrange(3),
    )


def some_runs(chance):
    """Draw how documents are sealed into runs, and these merged."""
    return {
        "delta_documents": chance.choice([1, 2, 3, 8, 30, 4096]),
        "growth": chance.randint(2, 5),
        "header_offset": chance.randint(-4, 0),
    }


def some_text(chance):
    """Draw a text from one of a few families, so that many texts are near or equal."""
    if chance.random() < 0.08:
        return chance.choice(["", "   ", "\u9ed1", "x" * 3000, "word1 " * 400])
    start = 5 * chance.randrange(5)
    words = WORDS[start : start + chance.choice([4, 12, 24])] * chance.choice([1, 1, 2])
    for _ in range(chance.choice([0, 0, 1, 2, 5])):
        words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words)


class Few:
    """Draws for a small database, from everything that is allowed."""

    count = 0
    snapshots, transactions, singles = 3, 7, 1
    sample = 10**6  # documents that are compared of each answer
    similarities, distances, distance_share = (
        (0.2, 0.5, 0.75, 0.9, 1.0),
        (0, 1, 3, 5, 9, 20, 64),
        0.8,
    )
    limits, nearest = (None, None, 1, 2, 7), (1, 3, 10)

    def __init__(self, chance):
        """Draw by `chance`."""
        self.chance, self.now = chance, 1_000_000_000
        self.number_share = chance.choice([0.0, 0.03, 0.4])
        # Fields that the database indexes, whose values are no floats.
        self.fields = chance.choice([(), ("rank",), ("other", "rank")])

    def options(self):
        chance = self.chance
        is_minhash = chance.random() < 0.3
        sketch = some_minhash(chance) if is_minhash else some_simhash(chance)
        chosen = {
            "sketch": sketch,
            "recall": chance.choice([1.0, 1.0, 0.9]),
            "similarity": chance.choice([0.5, 0.7, 0.85]),
            **some_runs(chance),
            "keep_clusters": chance.choice(
                ["none", "similarity" if sketch.vector_bytes else "none"]
            ),
            "keep_times": chance.choice(["none", "inserted", "seen"]),
            "passages": sketch.unit in ("words", "whitespace") and chance.random() < 0.4,
            "fields": self.fields,
        }
        # Texts would measure what passages share, and the model estimates it.
        chosen["texts"] = not chosen["passages"] and chance.random() < 0.4
        if is_minhash:
            if chosen["recall"] == 1.0 or chance.random() < 0.7:
                rows = chance.randint(1, 5)
                most = min(sketch.permutations // rows, 64)
                chosen |= {"rows": rows, "bands": chance.randint(1, most)}
            return simdb.Options(**chosen)
        blocks, leading = chance.choice(SHAPES)
        chosen |= {"blocks": blocks, "leading": leading, "distance": chance.randint(0, 9)}
        if chance.random() < 0.4:
            chosen["keep_clusters"] = "distance"
        if sketch.vector_bytes:
            chosen["polytopes"] = chance.choice([None, None, 0, 1, 2, 16])
        return simdb.Options(**chosen)

    def opening(self):
        """Draw how a database is opened."""
        return {
            "durability": self.chance.choice(["full", "process", "none", "none"]),
            "map_size": self.chance.choice([None, 2**20]),
            "timeout": self.chance.choice([None, 5]),
        }

    def tick(self):
        """Let a second pass, and return the time."""
        self.now += 1
        return self.now

    def size(self):
        """Draw the size of a batch."""
        return self.chance.choice([0, 1, 1, 2, 5, 12, 30])

    def new_ids(self, model, count):
        """Draw distinct ids, some of which are stored."""
        drawn = self.some_ids(model, count)
        return list({(type(id), id): id for id in drawn}.values())

    def some_ids(self, model, count):
        """Draw ids, known and unknown; mostly a few."""
        chance = self.chance
        return [
            chance.choice([chance.randrange(200), chance.randrange(200), chance.choice(ODD_IDS)])
            for _ in range(min(count, 40))
        ]

    def asked(self):
        """Draw the number of documents that a verb asks about, one after the other."""
        return 1

    def texts(self, count):
        return [some_text(self.chance) for _ in range(count)]

    def documents(self, model, count):
        """Draw texts and whole numbers; only texts have passages."""
        if model.is_minhash or model.options.passages:
            return self.texts(count)
        return [
            self.bits() if self.chance.random() < self.number_share else self.texts(1)[0]
            for _ in range(count)
        ]

    def bits(self):
        places = self.chance.sample(range(64), self.chance.choice([0, 1, 2, 3, 6]))
        return self.chance.choice(CENTRES) ^ sum(1 << place for place in places)

    def metadata(self, count):
        chance = self.chance
        return [
            chance.choice([
                None, None, {"rank": chance.randrange(9)},
                {"rank": 2**40 if self.fields else chance.random()}, [1, "a", None], 7,
            ])
            for _ in range(count)
        ]  # fmt: skip

    def ask(self, options, *, weighted, is_exact=True):
        """Draw bounds, recall and method of a query; a similarity only if `weighted`."""
        chance, ask = self.chance, {}
        can_measure = options.sketch.vector_bytes > 0 and not options.is_hashes
        if weighted and can_measure and chance.random() < 0.5:
            ask["similarity"] = chance.choice(self.similarities)
        if not options.is_minhash and chance.random() < (0.2 if ask else self.distance_share):
            ask["distance"] = chance.choice(self.distances)
        if chance.random() < 0.6:
            ask["recall"] = chance.choice([1.0, 1.0, 0.95, 0.6] if is_exact else [0.95, 0.6])
        if chance.random() < 0.4:
            ask["search"] = chance.choice(methods_of(options, weighted))
        return ask

    def pairs_ask(self, model):
        """Draw a criterion for pairs of stored documents; it always has a bound."""
        kinds = model.kinds[model.is_live]
        weighted = bool((kinds == WEIGHTED).any()) or not kinds.any()
        ask = self.ask(model.options, weighted=weighted)
        if not ask.get("similarity") and ask.get("distance") is None:
            ask |= {"similarity": 0.6} if model.is_minhash else {"distance": 4}
        return ask


class Many(Few):
    """Draws for a large database.

    Two thirds of the texts match no other text.  The rest are edited copies of some base texts, a
    few of each, and copies of one text that is much more frequent.
    """

    snapshots, transactions, singles = 1, 2, 5
    sample = 6
    # Only copies are so similar.
    similarities, distances = (0.75, 0.9), (0, 1, 3, 5, 8)
    distance_share = 1.0
    limits, nearest = (None, None, 2), (1, 10, 300)

    def __init__(self, chance, seed, count):
        """Prepare the texts of `count` documents."""
        super().__init__(chance)
        self.count, self.made = count, 0
        self.random = np.random.default_rng(seed)
        self.bases = self._rows(max(count // (3 * COPIES), 2))
        self.crowd_share = min(CROWD, count // 20) / count
        self.shared = [{"rank": rank} for rank in range(RANKS)]

    def options(self):
        """Draw options with which a large database does not take hours."""
        chance, count = self.chance, self.count
        is_minhash = chance.random() < 0.25
        if is_minhash:
            sketch = simdb.Minhash(
                shingle=1,
                weighting=chance.choice(["set", "bag"]),
                permutations=chance.choice([64, 128]),
                stored_bits=chance.choice([1, 2, 8, 32]),
            )
        else:
            sketch = simdb.Simhash(
                shingle=1,
                weighting=chance.choice(["binary", "tf", "log-tf", "tf-idf"]),
                dimensions=chance.choice([64, 128, 128, 256]),
                store_volatility=chance.random() < 0.85,
            )
        can_measure = sketch.vector_bytes > 0
        polytopes = chance.choice([None, None, 0, 2]) if can_measure and not is_minhash else None
        is_found = can_measure and (count <= LARGE or is_minhash or polytopes != 0)
        kept = ["none", *["similarity"] * is_found, *["distance"] * (not is_minhash)]
        return simdb.Options(
            sketch=sketch,
            recall=chance.choice([0.9, 0.95] if count > LARGE else [0.9, 1.0]),
            similarity=0.8,
            delta_documents=chance.choice([100, 1000, 4096, 4096]),
            growth=chance.choice([2, 4, 4]),
            header_offset=chance.choice([0, 0, -2]),
            keep_clusters=chance.choice(kept),
            keep_times=chance.choice(["none", "inserted", "seen"]),
            fields=chance.choice([(), ("rank",), ("other", "rank")]),
            texts=chance.random() < 0.3,
            **({} if polytopes is None else {"polytopes": polytopes}),
        )

    def opening(self):
        return {"durability": "none"}

    def size(self):
        return max(self.count // self.chance.choice([20, 50, 1000]), 1)

    def new_ids(self, model, count):
        """Draw new ids, all numbers or all texts; sometimes ids of stored documents."""
        if len(model) and count > 1 and self.chance.random() < 0.2:
            return self.some_ids(model, count)
        start, self.made = self.made, self.made + count
        numbers = range(start, start + count)
        is_number = self.chance.random() < 0.5
        return list(numbers) if is_number else [f"document {number}" for number in numbers]

    def some_ids(self, model, count):
        """Draw ids of stored documents."""
        places = np.flatnonzero(model.is_live).tolist()
        return [model.ids[at] for at in self.chance.sample(places, min(count, len(places)))]

    def asked(self):
        return self.sample

    def texts(self, count):
        rows = self._rows(count)
        copied = np.flatnonzero(self.random.random(count) < 1 / 3)
        rows[copied] = self.bases[self.random.integers(1, len(self.bases), len(copied))]
        edits = self.random.choice(EDITS, len(copied))
        for edit in range(max(EDITS)):
            edited = copied[edits > edit]
            places = self.random.integers(0, TEXT_WORDS, len(edited))
            rows[edited, places] = self.random.integers(0, len(MANY_WORDS), len(edited))
        rows[self.random.random(count) < self.crowd_share] = self.bases[0]
        texts = [" ".join([MANY_WORDS[word] for word in row]) for row in rows.tolist()]
        for empty in np.flatnonzero(self.random.random(count) < 1 / 2000):
            texts[empty] = ""
        return texts

    def _rows(self, count):
        return self.random.integers(0, len(MANY_WORDS), (count, TEXT_WORDS))

    def documents(self, model, count):
        """Draw texts, or now and then fingerprints without weights near the stored ones."""
        if model.is_minhash or not len(model) or self.chance.random() < 0.85:
            return self.texts(count)
        near = self.random.integers(0, len(model.bits), count)
        flips = np.uint64(1) << self.random.integers(0, 64, count).astype(np.uint64)
        return (model.bits[near] ^ flips).tolist()

    def metadata(self, count):
        """Draw ranks; half of the documents have none."""
        ranks = np.where(self.random.random(count) < 0.5, self.random.integers(0, RANKS, count), -1)
        return [None if rank < 0 else self.shared[rank] for rank in ranks.tolist()]

    def pairs_ask(self, model):
        """Draw a criterion for all pairs, which does not compare each document with every other."""
        if model.is_minhash:
            return {"similarity": 0.85, "recall": 0.95}
        if model.is_simhash and model.options.sketch.vector_bytes and self.chance.random() < 0.4:
            return {"similarity": 0.88, "recall": 0.9}
        return {"distance": self.chance.choice([0, 2, 3])}


def methods_of(options, weighted):
    if options.is_minhash:
        return ["auto", "exhaustive", "banding"]
    return ["auto", "exhaustive", "bphs", *(["psm", "multiprobe"] if weighted else [])]
