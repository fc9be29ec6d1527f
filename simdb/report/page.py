"""The page: the facts as HTML, by a template of jinja2 that escapes everything.

The page is one file: its style sheet and figures are inside, and a policy in its head forbids
scripts and any load from elsewhere.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from simdb.report import charts, figures, template
from simdb.report.facts import Drawn, Facts
from simdb.report.template import shown_id
from simdb.report.words import table_group, threshold_in_words

# Two standard deviations, which the true share exceeds once in twenty samples.
DEVIATIONS = 2


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
        size_label=charts.size_label,
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
    found = [charts.size_chart(facts.storage)]
    if facts.groups.sizes:
        found.append(charts.group_chart(facts.groups))
    if any(each.count for each in facts.drawn.bins):
        found.append(charts.pair_chart(facts.drawn, facts.threshold))
    if any(each.header_count for each in facts.headers):
        found.append(charts.header_chart(facts.headers, is_minhash=is_minhash))
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
