"""Pages: what a database holds and what a job removed, as HTML by templates of jinja2.

Only this module imports jinja2, which the extra `report` installs; it escapes everything that was
not marked as safe.  A page is one file: its style sheet is inside, and a policy in its head forbids
to load anything from elsewhere.  Distributions are tables in which each number has a bar behind it.

Two pages have texts beside each other, with the words that differ: what a run removed, each
document beside the one that stays for it, and the items of a test that are in documents, each
passage beside its item.  The pairs that are least alike come first, because they tell whether the
threshold is right.  A page shows some thousands of pairs, and says how many were left out.
"""

import sys
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import simdb
from simdb.core.arrays import Id
from simdb.core.arrow import id_text
from simdb.core.checks import installed
from simdb.core.dtypes import F32, I64
from simdb.core.errors import OptionError
from simdb.core.previews import counted, size
from simdb.core.reports import HeaderFill
from simdb.core.text_sketch import TextSketch
from simdb.files import STANDARD_OUTPUT, Format, Target, check_place, written
from simdb.jobs.report.excerpts import TEXT_CHARACTERS, TextPiece, beginning, beside, visible
from simdb.jobs.report.facts import Drawn, Facts, SizeBin, table_group, threshold_in_words
from simdb.sketch import as_read

FOLDER = Path(__file__).parent
STYLE, PAIRS_SCRIPT = "page.css", "pairs.js"
ID_CHARACTERS = 120
PAGE_FORM = Format("HTML")
# Two standard deviations, which the true share exceeds once in twenty samples.
DEVIATIONS = 2
# A page of so many pairs has a few megabytes.
SHOWN_PAIRS = 2000
# The texts of so many pairs are read at a time.
READ_PAIRS = 256

# From positions of pairs to their ids, left and right, or to their texts, None for an unknown one.
Ids = Callable[[I64], tuple[Sequence[Id], ...]]
Texts = Callable[[I64], tuple[Sequence[Any], ...]]
Excerpt = tuple[TextPiece, ...]


class TextPair(NamedTuple):
    """Two texts with their titles, and a number that says how near they are, or NaN.

    A text is None if it is not known.  `note`: what else a page says of them.
    """

    left_title: str
    right_title: str
    left: str | None
    right: str | None
    number: float
    note: str = ""


def render(facts: Facts, *, is_minhash: bool) -> str:
    """Return the page about a database; OptionError if jinja2 is not installed."""

    def table_name(name: str) -> str:
        """Return what a sub-database is called on the page, such as `Permutation 00`."""
        kind = table_group(name, is_minhash=is_minhash).removesuffix(" tables")
        return f"{kind} {name.rpartition('/')[2]}"

    return _rendered(
        "page.html", facts=facts, error=sampling_error(facts.drawn),
        rule=threshold_in_words(facts.threshold, facts.statistics.options["measure"]),
        size_label=size_label, table_name=table_name, fill_label=fill_label,
        fills=header_shares(facts.headers, is_minhash=is_minhash),
        name=shown_id(Path(facts.statistics.path).name or facts.statistics.path),
    )  # fmt: skip


def render_removed(documents: int, removed: int, rule: str, pairs: Sequence[TextPair]) -> str:
    """Return the page of what a run removed; OptionError if jinja2 is not installed.

    A pair has a document that was removed at its left, and what stays for it at its right.
    `rule`: when documents match, in words; empty if that is not known.
    """
    return _of_pairs(
        "removed.html", pairs, "similarity", ("removed", "kept"),
        documents=documents, removed=removed, rule=rule,
    )  # fmt: skip


def render_leaks(leaks: Sequence[Any], **counts: int) -> str:
    """Return the page of the items in documents; OptionError if jinja2 is not installed.

    `leaks`: of `simdb.jobs.decontamination.result.Leak`.  `counts`: what the page says of the
    search: items, leaked, documents, with_item.
    """
    # The least covered tell whether the rule is right.
    shown = sorted(leaks, key=lambda leak: leak.coverage)[:SHOWN_PAIRS]
    pairs = [
        TextPair(
            shown_id(leak.id), f"{shown_id(leak.item)}, {visible(leak.field)}",
            shown_text(leak.text), shown_text(leak.item_text), leak.coverage,
            f"{counted(leak.count, 'document')} with \u201c{leak.rarest}\u201d",
        )
        for leak in shown
    ]  # fmt: skip
    return _of_pairs(
        "leaks.html", pairs, "coverage", ("document", "item"), leaks=len(leaks), **counts
    )


def check_page(path: str) -> None:
    """Raise OptionError if a page cannot be made, or not be written to `path`."""
    _load_jinja()
    if path == STANDARD_OUTPUT and sys.stdout.isatty():
        raise OptionError("a page would flood the terminal; use -o report.html, or a pipe")
    if path != STANDARD_OUTPUT:
        check_place(path)


def write_page(page: str, path: str) -> int:
    """Write a page to `path` and return its bytes; a file gets its name when it is complete."""
    with written(path, PAGE_FORM) as target:
        return fill_page(page, target)


def fill_page(page: str, target: Target) -> int:
    """Write a page to an output, and return its bytes."""
    assert target.stream is not None, "only folders have no stream"
    target.rows = 1
    return target.stream.write(page.encode())


def nearest_pairs(
    similarities: F32, ids: Ids, texts: Texts, sketch: TextSketch | None, lost: I64 | None = None
) -> list[TextPair]:
    """Return the pairs that are least alike, with their texts; unknown similarities come last.

    `sketch` says whether the texts are HTML, of which the page shows what a reader sees.  `lost`:
    how many word 3-grams of the left texts the right ones do not have.
    """
    chosen = np.argsort(similarities, kind="stable")[:SHOWN_PAIRS]
    pairs: list[TextPair] = []
    for start in range(0, len(chosen), READ_PAIRS):
        some = chosen[start : start + READ_PAIRS]
        sides = (each if sketch is None else as_read(each, sketch) for each in texts(some))
        titles = (map(shown_id, side) for side in ids(some))
        shown = (map(shown_text, side) for side in sides)
        notes = repeat("") if lost is None else map("lost 3-grams: {:,}".format, lost[some])
        pairs += map(TextPair, *titles, *shown, similarities[some].tolist(), notes)
    return pairs


def rule_in_words(measure: str | None, least: float | None) -> str:
    """Return when documents match, as the end of a sentence after `if`.

    `measure`: what the texts have decided by, None if sketches have.  `least`: None if unknown.
    """
    if least is None:
        return ""
    if measure is None:
        return f"their estimated similarity is at least {least:g}"
    return f"the exact {measure} similarity of their texts is at least {least:g}"


def shown_pair(pair: TextPair) -> tuple[Excerpt | None, Excerpt | None, str, bool]:
    """Return what a page shows of one pair: excerpts of both texts, a note, and if they differ.

    An excerpt is None for a text that is not known.  The note says how much differs, too.
    """
    if pair.left is None or pair.right is None:
        left, right = (None if each is None else beginning(each) for each in pair[2:4])
        return left, right, visible(pair.note), True
    left, right, note = beside(pair.left, pair.right)
    is_differing = any(each.kind in ("removed", "added") for each in (*left, *right))
    return left, right, "; ".join(filter(None, (visible(pair.note), note))), is_differing


def shown_text(text: object) -> str | None:
    """Return as much of a text, or of its UTF-8, as is looked at; None for None."""
    if text is None:
        return None
    if isinstance(text, np.ndarray):  # a hash
        return text.tobytes().hex()
    # A character has at most four bytes; one more shows that the text goes on.
    if isinstance(text, bytes | bytearray | memoryview):
        text = bytes(text[: 4 * (TEXT_CHARACTERS + 1)]).decode("utf-8", "replace")
    return str(text)[: TEXT_CHARACTERS + 1]


def shown_id(id: Id) -> str:
    """Return an id as a line of text that a page can show."""
    text = visible(id_text(id).replace("\n", " "))
    if len(text) <= ID_CHARACTERS:
        return text
    return f"{text[: ID_CHARACTERS // 2]}\u2026{text[-ID_CHARACTERS // 2 :]}"


def sampling_error(drawn: Drawn) -> float:
    """Return how far the share of documents with a match may be off, at two deviations.

    Two successes and two failures are added (Agresti & Coull 1998), so that a few drawn documents
    that all match do not look certain.
    """
    if not drawn.documents or drawn.documents == drawn.of_documents:
        return 0.0
    number = drawn.documents + 4
    share = (drawn.matching_count + 2) / number
    return float(DEVIATIONS * (share * (1 - share) / number) ** 0.5)


def header_shares(fills: Sequence[HeaderFill], *, is_minhash: bool) -> dict[str, list[float]]:
    """Return the shares of headers by the number of their entries, in %, for each kind of table.

    They are as many for each kind; `fill_label` says what each of them counts.
    """
    totals: dict[str, list[int]] = defaultdict(list)
    for fill in fills:
        kind = table_group(fill.name, is_minhash=is_minhash)
        totals[kind] = [sum(both) for both in zip_longest(totals[kind], fill.counts, fillvalue=0)]
    length = max(map(len, totals.values()), default=0)
    return {
        kind: [100 * each / sum(total) for each in total] + [0.0] * (length - len(total))
        for kind, total in totals.items()
        if sum(total)
    }


def fill_label(at: int) -> str:
    """Return the least number of entries that `HeaderFill.counts[at]` counts, 1k for 1,024."""
    if at == 0:
        return "0"
    power, rest = divmod(at - 1, 10)
    return f"{1 << rest}{'kMG'[power - 1] if power else ''}"


def size_label(each: SizeBin) -> str:
    """Return the sizes that are counted together."""
    if each.most is None:
        return f"{each.least:,}+"
    return f"{each.least:,}" if each.most == each.least else f"{each.least:,}\u2013{each.most:,}"


def moment(time: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    return "unknown" if time is None else time.strftime("%Y-%m-%d %H:%M")


def _of_pairs(
    name: str, pairs: Sequence[TextPair], measure: str, words: tuple[str, str], **values: Any
) -> str:
    """Return a page of pairs by the template `name`.

    `measure` names the number of a pair; `words` say what its left and its right text are.
    """
    shown = [(pair, *shown_pair(pair)) for pair in pairs]
    return _rendered(
        name, script=PAIRS_SCRIPT if pairs else "", pairs=shown, measure=measure, words=words,
        **values,
    )  # fmt: skip


def _rendered(name: str, /, *, script: str = "", **values: Any) -> str:
    """Return a page by the template `name`; `script`: the file of the only script that may run."""
    jinja = _load_jinja()
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(
        size=size, count="{:,.0f}".format, moment=moment, id=shown_id, visible=visible
    )
    safe = import_module("markupsafe").Markup
    source = f"\n{(FOLDER / script).read_text('utf-8')}" if script else ""
    digest = b64encode(sha256(source.encode()).digest()).decode() if script else ""
    page: str = environment.get_template(name).render(
        style=safe((FOLDER / STYLE).read_text("utf-8")), version=simdb.__version__,
        script=safe(source), script_digest=digest, **values,
    )  # fmt: skip
    return page


def _load_jinja() -> Any:
    """Import jinja2; OptionError with a remedy if it is not installed."""
    # Loaded when needed, because only pages need it.
    return installed("jinja2", "a report needs jinja2: pip install jinja2")
