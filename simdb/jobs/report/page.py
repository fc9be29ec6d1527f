"""Pages: HTML pages about a database and about the result of a job, by templates of jinja2.

Only this module imports jinja2, which the extra `report` installs.  jinja2 escapes everything that
is not marked as safe.  A page is one file: it contains its style sheet, and a policy in its head
forbids loading anything from elsewhere.  Distributions are tables in which each number has a bar
behind it.

Two kinds of pages show pairs of texts, with the words that differ: each removed document next to
the kept one, and each leaked passage next to its item.  The least similar pairs precede the others,
because they show whether the threshold is right.  A page has at most `SHOWN_PAIRS` pairs, and says
how many it omits.
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
# Standard deviations of a stated error, which one in twenty samples exceeds.
DEVIATIONS = 2
# Limit on the pairs of a page, which then has a few megabytes.
SHOWN_PAIRS = 2000
# Pairs per batch when texts are read.
READ_PAIRS = 256

# Map positions of pairs to their ids or texts, left and right; None for an unknown text.
Ids = Callable[[I64], tuple[Sequence[Id], ...]]
Texts = Callable[[I64], tuple[Sequence[Any], ...]]
Excerpt = tuple[TextPiece, ...]


class TextPair(NamedTuple):
    """Two texts with their titles, and their similarity or coverage, or NaN.

    A text is None if it is unknown.  `note`: a remark on the page.
    """

    left_title: str
    right_title: str
    left: str | None
    right: str | None
    number: float
    note: str = ""


def render(facts: Facts, *, is_minhash: bool) -> str:
    """Return the page about a database; raise OptionError if jinja2 is not installed."""

    def table_name(name: str) -> str:
        """Return the name of a sub-database on the page, such as `Permutation 00`."""
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
    """Return the page about removed documents; raise OptionError if jinja2 is not installed.

    The left text of a pair is the removed document, and the right text is the kept one.  `rule`:
    the condition for a match, in words; empty if unknown.
    """
    return _of_pairs(
        "removed.html", pairs, "similarity", ("removed", "kept"),
        documents=documents, removed=removed, rule=rule,
    )  # fmt: skip


def render_leaks(leaks: Sequence[Any], **counts: int) -> str:
    """Return the page about items in documents; raise OptionError if jinja2 is not installed.

    `leaks`: objects of `simdb.jobs.decontamination.result.Leak`.  `counts`: the numbers on the
    page: items, leaked, documents, with_item.
    """
    # Leaks of the lowest coverage show whether the rule is right.
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
    """Raise OptionError if jinja2 is not installed or a page cannot be written to `path`."""
    _load_jinja()
    if path == STANDARD_OUTPUT and sys.stdout.isatty():
        raise OptionError("a page would flood the terminal; use -o report.html, or a pipe")
    if path != STANDARD_OUTPUT:
        check_place(path)


def write_page(page: str, path: str) -> int:
    """Write a page to `path`, and return its size in bytes.

    A file gets its name when it is complete.
    """
    with written(path, PAGE_FORM) as target:
        return fill_page(page, target)


def fill_page(page: str, target: Target) -> int:
    """Write a page to an output, and return its size in bytes."""
    assert target.stream is not None, "only folders have no stream"
    target.rows = 1
    return target.stream.write(page.encode())


def nearest_pairs(
    similarities: F32, ids: Ids, texts: Texts, sketch: TextSketch | None, lost: I64 | None = None
) -> list[TextPair]:
    """Return the least similar pairs, with their texts; pairs of unknown similarity are last.

    If `sketch` reads HTML, the pairs have only the visible text.  `lost` int64[k]: the number of
    word 3-grams of each left text that the right text lacks.
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
    """Return the condition for a match, as the end of a sentence after `if`.

    `measure`: the exact measure, None for estimates.  `least`: the threshold, None if unknown.
    """
    if least is None:
        return ""
    if measure is None:
        return f"their estimated similarity is at least {least:g}"
    return f"the exact {measure} similarity of their texts is at least {least:g}"


def shown_pair(pair: TextPair) -> tuple[Excerpt | None, Excerpt | None, str, bool]:
    """Return excerpts of both texts of a pair, a note, and whether the texts differ.

    The excerpt of an unknown text is None.  The note also counts the differing words.
    """
    if pair.left is None or pair.right is None:
        left, right = (None if each is None else beginning(each) for each in pair[2:4])
        return left, right, visible(pair.note), True
    left, right, note = beside(pair.left, pair.right)
    is_differing = any(each.kind in ("removed", "added") for each in (*left, *right))
    return left, right, "; ".join(filter(None, (visible(pair.note), note))), is_differing


def shown_text(text: object) -> str | None:
    """Return the beginning of a text, for a page; None for None.  The text may be UTF-8 bytes."""
    if text is None:
        return None
    if isinstance(text, np.ndarray):  # a hash
        return text.tobytes().hex()
    # A character has at most four bytes; one more character shows that the text continues.
    if isinstance(text, bytes | bytearray | memoryview):
        text = bytes(text[: 4 * (TEXT_CHARACTERS + 1)]).decode("utf-8", "replace")
    return str(text)[: TEXT_CHARACTERS + 1]


def shown_id(id: Id) -> str:
    """Return an id as one line of visible text, shortened in the middle."""
    text = visible(id_text(id).replace("\n", " "))
    if len(text) <= ID_CHARACTERS:
        return text
    return f"{text[: ID_CHARACTERS // 2]}\u2026{text[-ID_CHARACTERS // 2 :]}"


def sampling_error(drawn: Drawn) -> float:
    """Return the possible error of the share of documents with a match, at two deviations.

    Two successes and two failures are added (Agresti & Coull 1998), so that a small sample in which
    all documents match does not look certain.
    """
    if not drawn.documents or drawn.documents == drawn.of_documents:
        return 0.0
    number = drawn.documents + 4
    share = (drawn.matching_count + 2) / number
    return float(DEVIATIONS * (share * (1 - share) / number) ** 0.5)


def header_shares(fills: Sequence[HeaderFill], *, is_minhash: bool) -> dict[str, list[float]]:
    """Return the shares of headers by the number of their entries, in %, for each kind of table.

    All lists have the same length; `fill_label` names the numbers of entries at each place.
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
    """Return the least number of entries of a header in `HeaderFill.counts[at]`: 1k for 1,024."""
    if at == 0:
        return "0"
    power, rest = divmod(at - 1, 10)
    return f"{1 << rest}{'kMG'[power - 1] if power else ''}"


def size_label(each: SizeBin) -> str:
    """Return the range of sizes in a bin, such as 6-10."""
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

    `measure` names the number of a pair, and `words` name its left and right text.
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
    """Import jinja2; raise OptionError with a remedy if it is not installed."""
    return installed("jinja2", "a report needs jinja2: pip install jinja2")
