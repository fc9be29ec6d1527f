"""The page: the facts and their charts as HTML, by a template of jinja2 that escapes everything.

The page is one file: its style sheet and figures are inside, and a policy in its head forbids
scripts and any load from elsewhere.  matplotlib draws the charts as elements of SVG in it: text
stays text, and colours come from the style sheet.  Equal charts make equal elements.
"""

import io
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from simdb.ground.checks import installed
from simdb.report import template
from simdb.report.facts import (
    Drawn,
    Facts,
    Groups,
    Section,
    SizeBin,
    Threshold,
    table_group,
    threshold_in_words,
)
from simdb.report.gather import BIN_WIDTH, SIMILARITY
from simdb.report.template import shown_id
from simdb.results.reports import HeaderFill

# Two standard deviations, which the true share exceeds once in twenty samples.
DEVIATIONS = 2
MEGABYTE = 1e6
LABELS_MOST = 8
# If more groups have one size, the axis has a logarithmic scale.
LINEAR_MOST = 100
REMEDY = "pip install jinja2 matplotlib"
# Colours that matplotlib writes, and the variable of the style sheet that takes their place.
INK, FAINT, SERIES, SECOND, MARK = ("#010203", "#010204", "#010205", "#010206", "#010207")
VARIABLES = {INK: "ink", FAINT: "faint", SERIES: "series", SECOND: "second", MARK: "mark"}
# In inches of 72 points: about as wide as a narrow screen, so that letters keep their size there.
WIDTH, HEIGHT, BAR_HEIGHT = 4.4, 2.7, 0.34
SETTINGS = {
    "svg.fonttype": "none", "svg.hashsalt": "simdb", "font.size": 10, "text.color": INK,
    "axes.labelcolor": INK, "axes.edgecolor": FAINT, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "grid.color": FAINT, "grid.linewidth": 0.5,
}  # fmt: skip
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars over labels, to be drawn.

    `name`: unique on the page.  `series`: bars of one colour each, by name, a value for each label;
    names are shown if there are several.  `description`: what a reader would see, in a sentence.
    `mark`: a place on the axis of labels, with a line and `mark_label`.  `is_lying`: bars lie,
    which leaves room for long labels; there is one series then.  `is_log`, only if they lie: each
    step of the axis is a factor of ten.  `label_step`: of standing bars, each so-many-th has its
    label.
    """

    name: str
    description: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    value_label: str
    axis_label: str = ""
    mark: float | None = None
    mark_label: str = ""
    is_log: bool = False
    is_lying: bool = False
    label_step: int = 1


def check_libraries() -> None:
    """Raise OptionError unless jinja2 and matplotlib are installed."""
    template.load_jinja(REMEDY)
    _load_matplotlib()


def render(facts: Facts, *, is_minhash: bool) -> str:
    """Return the page as text.

    Raises OptionError if jinja2 or matplotlib is not installed.
    """
    # They come from matplotlib, which was given no text of documents.
    safe = import_module("markupsafe").Markup
    drawn = {name: safe(draw(chart)) for name, chart in _charts(facts, is_minhash).items()}
    return template.render(
        "page.html",
        facts=facts,
        figures=drawn,
        rule=threshold_in_words(facts.threshold, is_minhash=is_minhash),
        error=sampling_error(facts.drawn),
        size_label=size_label,
        table_rows=_header_rows(facts, is_minhash),
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


def _charts(facts: Facts, is_minhash: bool) -> dict[str, Chart]:
    """Return the charts that have something to show, by name."""
    found = [size_chart(facts.sections)]
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


def size_chart(sections: Sequence[Section]) -> Chart:
    """Return the bytes of each part of the file."""
    largest = sections[0].name if sections else "nothing"
    return Chart(
        name="sizes",
        description=f"Bars: megabytes of each part of the file; the largest part is {largest}.",
        labels=[each.name for each in sections],
        series={"size": [each.size_bytes / MEGABYTE for each in sections]},
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
        series={"groups": counts},
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
        series={"pairs": [each.count for each in drawn.bins]},
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
    series = {
        name: [100 * each / sum(total) for each in total] + [0.0] * (length - len(total))
        for name, total in totals.items()
        if sum(total)
    }
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


def _load_matplotlib(module: str = "matplotlib") -> Any:
    """Import matplotlib or a module of it; OptionError if it is not installed."""
    # Loaded when needed: it takes a good part of a second.
    return installed(module, f"a report needs matplotlib: {REMEDY}")


def draw(chart: Chart) -> str:
    """Return a chart as an SVG element for a page."""
    matplotlib = _load_matplotlib()
    figure_module = _load_matplotlib("matplotlib.figure")
    height = 0.8 + BAR_HEIGHT * len(chart.labels) if chart.is_lying else HEIGHT
    written = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        figure = figure_module.Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        if chart.is_lying:
            _draw_lying(axes, chart)
        else:
            _draw_standing(axes, chart)
        if len(chart.series) > 1:
            # Above the bars, so that it hides none of them.
            figure.legend(frameon=False, loc="outside upper left", ncols=len(chart.series))
        figure.savefig(written, format="svg", transparent=True, metadata=NO_METADATA)
    return _inlined(written.getvalue(), chart)


def _draw_standing(axes: ModuleType, chart: Chart) -> None:
    """Draw bars side by side, one group for each label."""
    width = 0.86 / len(chart.series)
    shown_series = zip(chart.series.items(), (SERIES, SECOND), strict=False)
    for at, ((name, values), colour) in enumerate(shown_series):
        shift = (at - (len(chart.series) - 1) / 2) * width
        places = [place + shift for place in range(len(chart.labels))]
        axes.bar(places, values, width, color=colour, label=name)
    shown = range(0, len(chart.labels), chart.label_step)
    axes.set_xticks(list(shown), [chart.labels[at] for at in shown])
    axes.set_ylabel(chart.value_label)
    axes.set_xlabel(chart.axis_label)
    axes.grid(axis="y")
    if all(isinstance(value, int) for each in chart.series.values() for value in each):
        axes.locator_params(axis="y", integer=True)
    _plain_numbers(axes.yaxis)
    if chart.mark is not None:
        axes.axvline(chart.mark, color=MARK, linestyle="--", linewidth=1.5)
        axes.annotate(
            chart.mark_label, (chart.mark, 1), (4, -2), color=MARK, va="top",
            xycoords=("data", "axes fraction"), textcoords="offset points",
        )  # fmt: skip


def _draw_lying(axes: ModuleType, chart: Chart) -> None:
    """Draw bars one under the other, the first on top."""
    places, (values,) = list(range(len(chart.labels))), chart.series.values()
    axes.barh(places, values, 0.7, color=SERIES)
    axes.set_yticks(places, chart.labels)
    axes.invert_yaxis()
    axes.set_xlabel(chart.value_label)
    axes.set_ylabel(chart.axis_label)
    axes.grid(axis="x")
    if chart.is_log:
        axes.set_xscale("log")
        # A bar of one is seen, too.
        axes.set_xlim(left=0.7)
        axes.xaxis.set_minor_formatter(lambda value, position: "")
    elif all(isinstance(value, int) for value in values):
        axes.locator_params(axis="x", integer=True)
    _plain_numbers(axes.xaxis)


def _plain_numbers(axis: ModuleType) -> None:
    """Write numbers with separators instead of powers of ten."""
    axis.set_major_formatter(lambda value, position: f"{value:,.10g}")


def _inlined(svg: str, chart: Chart) -> str:
    """Return the SVG as one element without namespaces, links out of the page, or fixed colours."""
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith("metadata"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name, value in list(element.attrib.items()):
            del element.attrib[name]
            element.set(name.rpartition("}")[2], _own_names(name, value, chart.name))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", chart.description)
    return ElementTree.tostring(root, encoding="unicode")


def _own_names(attribute: str, value: str, prefix: str) -> str:
    """Return the value of an attribute with the prefix of the figure in every id."""
    if attribute == "id":
        return f"{prefix}-{value}"
    if attribute.endswith("href") and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return value.replace("url(#", f"url(#{prefix}-")
