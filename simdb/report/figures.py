"""Figures: bars as inline SVG, drawn by matplotlib.

Only this module imports matplotlib, which the extra `report` installs.  It is the plotting library
that most people keep, and it writes SVG without a browser, a script or the network.  Its SVG is
made fit for a page: colours become the variables of the style sheet, so that they follow light and
dark; text stays text; and the ids of one figure differ from those of the others.  Figures have no
text from documents, only numbers and words of this package.
"""

import io
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from simdb.ground.errors import OptionError

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
class Series:
    """Bars of one colour: a value for each label; `name` is shown if there are several series."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars over labels, to be drawn.

    `name`: unique on the page.  `description`: what a reader would see, in a sentence.  `mark`: a
    place on the axis of labels, with a line and `mark_label`.  `is_lying`: bars lie, which leaves
    room for long labels; there is one series then.  `is_log`, only if they lie: each step of the
    axis is a factor of ten.  `label_step`: of standing bars, each so-many-th has its label.
    """

    name: str
    description: str
    labels: Sequence[str]
    series: Sequence[Series]
    value_label: str
    axis_label: str = ""
    mark: float | None = None
    mark_label: str = ""
    is_log: bool = False
    is_lying: bool = False
    label_step: int = 1


def load_matplotlib(module: str = "matplotlib") -> ModuleType:
    """Import matplotlib or a module of it; OptionError if it is not installed."""
    try:
        # Loaded when needed: it takes a good part of a second.
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"a report needs matplotlib: {REMEDY}") from error


def draw(chart: Chart) -> str:
    """Return a chart as an SVG element for a page."""
    matplotlib = load_matplotlib()
    figure_module = load_matplotlib("matplotlib.figure")
    height = HEIGHT
    if chart.is_lying:
        height = 0.8 + BAR_HEIGHT * len(chart.labels)
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
    for at, (series, colour) in enumerate(zip(chart.series, (SERIES, SECOND), strict=False)):
        shift = (at - (len(chart.series) - 1) / 2) * width
        places = [place + shift for place in range(len(chart.labels))]
        axes.bar(places, series.values, width, color=colour, label=series.name)
    shown = range(0, len(chart.labels), chart.label_step)
    axes.set_xticks(list(shown), [chart.labels[at] for at in shown])
    axes.set_ylabel(chart.value_label)
    axes.set_xlabel(chart.axis_label)
    axes.grid(axis="y")
    if all(isinstance(value, int) for series in chart.series for value in series.values):
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
    places = list(range(len(chart.labels)))
    axes.barh(places, chart.series[0].values, 0.7, color=SERIES)
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
    elif all(isinstance(value, int) for value in chart.series[0].values):
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
