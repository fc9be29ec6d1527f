"""Drawing: draws mutants at random, as data that fits any tree with the same lines.

A mutant is a dict of strings: the file, three lines of it, and what the middle line becomes.  It
applies to any tree that has these three lines in this file exactly once.
"""

import random

from changes import c_changes, python_changes

# Variants of other processors, the variant that is neither the definition nor the fastest, tables.
C_EXCLUDED = ("neon", "avx2", "unicode_table", "moz_table")


def drawn(tree, *, python_count, c_count, seed):
    """Return mutants of a tree."""
    chance = random.Random(seed)
    python = [path for path in files(tree, "simdb", "py") if "_table" not in path]
    c = [
        path
        for suffix in ("c", "h")
        for path in files(tree, "simdb_ext", suffix)
        if not any(word in path for word in C_EXCLUDED) and path.count("/") > 1
    ]
    return [
        *some(tree, python, python_changes, python_count, chance),
        *some(tree, c, c_changes, c_count, chance),
    ]


def files(tree, folder, suffix):
    return sorted(str(path.relative_to(tree)) for path in (tree / folder).rglob(f"*.{suffix}"))


def some(tree, paths, changes, count, chance):
    """Return `count` mutants: a line is as likely as every other line that can be changed."""
    texts = {path: (tree / path).read_text(encoding="utf-8") for path in paths}
    lengths = [text.count("\n") for text in texts.values()]
    known, chosen = {}, {}
    while len(chosen) < count and len(chosen) < sum(lengths):
        [path] = chance.choices(paths, lengths)
        line = chance.randrange(texts[path].count("\n")) + 1
        if path not in known:
            known[path] = changes(texts[path])
        mutant = mutant_at(texts[path], line, known[path].get(line), chance)
        if mutant and len(found_in(texts[path], mutant["lines"])) == 1:
            chosen[path, line] = {"path": path, "line": line, **mutant}
    return [*chosen.values()]


def mutant_at(text, line, families, chance):
    """Return three lines and a change of the middle one, or None if it has no change."""
    if not families:
        return None
    family = chance.choice(sorted(families))
    changed = chance.choice(families[family])()
    around = ["", *text.split("\n"), ""][line - 1 : line + 2]
    if changed is None or changed == around[1]:
        return None
    return {"operator": family, "lines": around, "changed": changed}


def found_in(text, lines):
    """Return the numbers, from 0, of the lines that are the middle of these three."""
    framed = ["", *text.split("\n"), ""]
    return [at for at in range(len(framed) - 2) if framed[at : at + 3] == lines]


def mutated(text, mutant):
    """Return a text with the mutant's change."""
    [at] = found_in(text, mutant["lines"])
    lines = text.split("\n")
    lines[at] = mutant["changed"]
    return "\n".join(lines)
