"""The page: the facts and their charts as HTML, by a template of jinja2 that escapes everything.

The page is one file: its style sheet and figures are inside, and a policy in its head forbids
scripts and any load from elsewhere.
"""

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from simdb.report import figures, template
from simdb.report.facts import (
    Drawn,
    Facts,
    Groups,
    SizeBin,
    Storage,
    Threshold,
    table_group,
    threshold_in_words,
)
from simdb.report.figures import Chart, Series
from simdb.report.pairs import BIN_WIDTH, SIMILARITY
from simdb.report.template import shown_id
from simdb.results.reports import HeaderFill

# Two standard deviations, which the true share exceeds once in twenty samples.
DEVIATIONS = 2
MEGABYTE = 1e6
LABELS_MOST = 8
# If more groups have one size, the axis has a logarithmic scale.
LINEAR_MOST = 100


def check_libraries() -> None:
    """Raise OptionError unless jinja2 and matplotlib are installed."""
    template.load_jinja(figures.REMEDY)
    figures.load_matplotlib()


def render(facts: Facts, *, is_minhash: bool) -> str:
    """Return the page as text.

    Raises OptionError if jinja2 or matplotlib is not installed.
    """
    # They come from matplotlib, which was given no text of documents.
    safe = import_module("markupsafe").Markup
    drawn = {name: safe(figures.draw(chart)) for name, chart in _charts(facts, is_minhash).items()}
    return template.render(
        "page.html",
        facts=facts,
        figures=drawn,
        rule=threshold_in_words(facts.threshold, is_minhash=is_minhash),
        error=sampling_error(facts.drawn),
        size_label=size_label,
        table_rows=_header_rows(facts, is_minhash),
        name=shown_id(Path(facts.headline.path).name or facts.headline.path),
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


def _charts(facts: Facts, is_minhash: bool) -> dict[str, figures.Chart]:
    """Return the charts that have something to show, by name."""
    found = [size_chart(facts.storage)]
    if facts.groups.sizes:
        found.append(group_chart(facts.groups))
    if any(each.count for each in facts.drawn.bins):
        found.append(pair_chart(facts.drawn, facts.threshold))
    if any(each.header_count for each in facts.headers):
        found.append(header_chart(facts.headers, is_minhash=is_minhash))
    return {chart.name: chart for chart in found}


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


def size_chart(storage: Storage) -> Chart:
    """Return the bytes of each part of the file."""
    largest = storage.sections[0].name if storage.sections else "nothing"
    return Chart(
        name="sizes",
        description=f"Bars: megabytes of each part of the file; the largest part is {largest}.",
        labels=[each.name for each in storage.sections],
        series=[Series("size", [each.size_bytes / MEGABYTE for each in storage.sections])],
        value_label="MB",
        is_lying=True,
    )


def group_chart(groups: Groups) -> Chart:
    """Return how many groups there are of each size."""
    counts = [each.groups for each in groups.sizes]
    is_log = max(counts) > LINEAR_MOST
    scale = ", on an axis whose steps are factors of ten" if is_log else ""
    return Chart(
        name="groups",
        description=f"Bars: the number of groups by their size{scale}.",
        labels=[size_label(each) for each in groups.sizes],
        series=[Series("groups", counts)],
        value_label="groups (each step is a factor of ten)" if is_log else "groups",
        axis_label="documents in a group",
        is_log=is_log,
        is_lying=True,
    )


def pair_chart(drawn: Drawn, threshold: Threshold) -> Chart:
    """Return the distribution of pairs by similarity or by distance."""
    count = len(drawn.bins)
    is_measured = drawn.measure == SIMILARITY
    mark = None
    if drawn.is_floored and threshold.similarity is not None:
        mark = (threshold.similarity - drawn.bins[0].most) / BIN_WIDTH + 0.5
    return Chart(
        name="pairs",
        description=f"Bars: the number of pairs found by their {drawn.measure}"
        + (", with a line at the threshold." if mark is not None else "."),
        labels=[f"{each.least:.2f}" if is_measured else f"{each.least:g}" for each in drawn.bins],
        series=[Series("pairs", [each.count for each in drawn.bins])],
        value_label="pairs",
        axis_label="similarity, from" if is_measured else "differing bits",
        mark=mark,
        mark_label=f"{threshold.similarity:g}" if mark is not None else "",
        label_step=-(-count // LABELS_MOST),
    )


def header_chart(fills: Sequence[HeaderFill], *, is_minhash: bool) -> Chart:
    """Return the share of headers by the number of their entries, for each kind of table."""
    totals: dict[str, list[int]] = defaultdict(list)
    for fill in fills:
        total = totals[table_group(fill.name, is_minhash=is_minhash)]
        total += [0] * (len(fill.counts) - len(total))
        for at, count in enumerate(fill.counts):
            total[at] += count
    length = max(map(len, totals.values()))
    series = [
        Series(name, [100 * each / sum(total) for each in total] + [0.0] * (length - len(total)))
        for name, total in totals.items()
        if sum(total)
    ]
    return Chart(
        name="headers",
        description="Bars: the share of headers by the number of their entries.",
        labels=[fill_label(at) for at in range(length)],
        series=series,
        value_label="% of headers",
        axis_label="entries under a header, from",
        label_step=-(-length // LABELS_MOST),
    )


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
