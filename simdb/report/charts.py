"""Charts: which facts are drawn, and how."""

from collections import defaultdict
from collections.abc import Sequence

from simdb.report.facts import Drawn, Groups, SizeBin, Storage, Threshold
from simdb.report.figures import Chart, Series
from simdb.report.pairs import BIN_WIDTH, SIMILARITY
from simdb.report.words import table_group
from simdb.results.reports import HeaderFill

MEGABYTE = 1e6
LABELS_MOST = 8
# If more groups have one size, the axis has a logarithmic scale.
LINEAR_MOST = 100


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
