"""The page: the facts about a database as HTML, by a template of jinja2 that escapes everything.

The page is one file: its style sheet is inside, and a policy in its head forbids scripts and any
load from elsewhere.  Distributions are tables in which each number has a bar behind it.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from simdb.core.reports import HeaderFill
from simdb.jobs.report import template
from simdb.jobs.report.facts import Drawn, Facts, SizeBin, table_group, threshold_in_words
from simdb.jobs.report.template import shown_id

# Two standard deviations, which the true share exceeds once in twenty samples.
DEVIATIONS = 2


def render(facts: Facts, *, is_minhash: bool) -> str:
    """Return the page as text; OptionError if jinja2 is not installed."""
    return template.render(
        "page.html",
        facts=facts,
        rule=threshold_in_words(facts.threshold, is_minhash=is_minhash),
        error=sampling_error(facts.drawn),
        size_label=size_label,
        table_rows=_header_rows(facts, is_minhash),
        fills=header_shares(facts.headers, is_minhash=is_minhash),
        fill_label=fill_label,
        name=shown_id(Path(facts.statistics.path).name or facts.statistics.path),
    )


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


def _header_rows(facts: Facts, is_minhash: bool) -> Sequence[dict[str, Any]]:
    """Return a row for each table that has headers."""
    return [
        {
            "name": _table_name(fill.name, is_minhash),
            "headers": fill.header_count,
            "empty": fill.counts[0] / fill.header_count,
            "mean": fill.entry_count / fill.header_count,
            "largest": fill.largest,
        }
        for fill in facts.headers
        if fill.header_count
    ]


def _table_name(name: str, is_minhash: bool) -> str:
    """Return what a sub-database is called on the page, such as `Permutation 00`."""
    number = name.rpartition("/")[2]
    return f"{table_group(name, is_minhash=is_minhash).removesuffix(' tables')} {number}"


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
