"""Drawings of the site: draws SVG from results of simdb, in the colours of the theme.

python tools/site/drawings.py     (writes docs/weights.svg, the only drawing that is kept: the
                                  README shows it)
"""

import html
import math
from pathlib import Path

import numpy as np

import simdb
from simdb.plan.banding import Banding, candidate_probability

TEXT = (
    "the quick brown fox jumps over the lazy dog near the old stone bridge by the river bank while "
    "two fishermen wait for the tide and a retired judge reads the paper on a bench under the lime "
    "trees behind the market hall where the baker has hung a sign that says closed until noon"
)
COPY = TEXT.replace("red judge", "red nurse")
WIDTH = 720
README_DRAWING = Path(__file__).resolve().parents[2] / "docs" / "weights.svg"
# A drawing outside of the site brings its colours with it, for light and for dark pages.
STYLE = """<style>
text { fill: #24292f; font-family: sans-serif; } .line { stroke: #888; } .mark { fill: #2f6feb; }
.alarm { fill: #d9822b; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } }
</style>"""


def main() -> None:
    """Write the drawing of the README."""
    README_DRAWING.write_text(alone(weights()), encoding="utf-8")


def alone(drawn: str) -> str:
    """Make a file of a drawing, without its caption."""
    svg = drawn[drawn.index("<svg") : drawn.index("</svg>") + len("</svg>")]
    start = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return start.replace(">", f">\n{STYLE}", 1) + "\n"


def weights() -> str:
    """Draw the first 64 weights of a text, and mark the bits that differ in a near-copy."""
    left, right = simdb.fingerprint(TEXT), simdb.fingerprint(COPY)
    assert left.weights is not None
    values = left.weights[:64] / np.abs(left.weights[:64]).max()
    differing = [bit for bit in range(64) if (left.bits ^ right.bits) >> bit & 1]
    parts = ['<line class="line" x1="8" y1="90" x2="712" y2="90"/>']
    for bit, value in enumerate(values.tolist()):
        height = max(1.5, abs(value) * 74)
        top = 90 - height if value >= 0 else 90
        kind = "alarm" if bit in differing else "mark"
        parts.append(bar(8 + bit * 11, top, 8, height, kind))
        parts.append(label(12 + bit * 11, 186, "1" if value >= 0 else "0", size=10))
    parts.append(label(8, 208, f'"{TEXT[:62]}..."', size=12, anchor="start"))
    caption = (
        f"The first 64 weights of a text of {len(TEXT.split())} words, and their signs, which are "
        f"the fingerprint.  In a copy with one other word, {len(differing)} bits differ (orange): "
        "they belong to weights near zero."
    )
    return figure("Weights and fingerprint bits", 216, parts, caption)


def table() -> str:
    """Draw a sorted table of real fingerprints, and the two places that a query looks up."""
    query = simdb.fingerprint(TEXT)
    near = simdb.fingerprint(COPY)
    random = np.random.default_rng(3)
    drawn = random.integers(0, 2**63, 400, np.int64).astype(np.uint64) * np.uint64(2)
    header = 6
    wanted = top_bits(query.bits, header)
    weakest = next(int(bit) for bit in query.volatility if bit >= 64 - header)
    flipped = top_bits(query.bits ^ (1 << weakest), header)
    rows = sorted({int(each) for each in drawn} | {near.bits})
    parts = [label(8, 18, "the sorted table", size=13, anchor="start")]
    places = sorted({wanted, flipped})
    for block, place in enumerate(places):
        inside = [each for each in rows if top_bits(each, header) == place][:4]
        x = 8 + block * 366
        kind = "mark" if place == wanted else "alarm"
        name = "the header of the query" if place == wanted else "its most volatile bit flipped"
        parts.append(label(x, 46, f"{place:06b}: {name}", size=13, anchor="start"))
        for row, bits in enumerate(inside):
            y = 58 + row * 22
            parts.append(bar(x, y, 62, 18, kind))
            parts.append(bar(x + 64, y, 274, 18, "paper"))
            parts.append(label(x + 31, y + 13, f"{bits:064b}"[:header], size=12, kind="on"))
            parts.append(label(x + 70, y + 13, f"{bits:064b}"[header:44], size=11, anchor="start"))
    caption = (
        f"One table, sorted by its leading bits; here {header} of them, of {len(rows)} "
        "fingerprints.  A query reads the entries under its own header, then the entries under the "
        "headers that a near-copy most likely has: the bits with the weakest weights flipped."
    )
    return figure("A table and two probes", 156, parts, caption)


def polytope() -> str:
    """Draw a rotated vector in the plane and the vertices of the cross-polytope nearest to it."""
    first, second = (simdb.fingerprint(text).weights for text in (TEXT, COPY))
    assert first is not None
    assert second is not None
    cosine = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    between = math.acos(cosine)
    parts = []
    for block, turn in enumerate((0.62, 1.3)):
        x, y, radius = 190 + block * 340, 130, 92
        parts.append(f'<circle class="line" cx="{x}" cy="{y}" r="{radius}"/>')
        corners = [(radius, 0), (0, -radius), (-radius, 0), (0, radius)]
        path = " ".join(f"{x + right},{y + down}" for right, down in corners)
        parts.append(f'<polygon class="line" points="{path}"/>')
        names = ("+x", "+y", "-x", "-y")
        for (right, down), name in zip(corners, names, strict=True):
            parts.append(f'<circle class="mark" cx="{x + right}" cy="{y + down}" r="5"/>')
            parts.append(label(x + right * 1.2, y + down * 1.2 + 4, name, size=13))
        for angle, kind in ((turn, "curve"), (turn + between, "other")):
            right, down = math.cos(angle) * radius, -math.sin(angle) * radius
            parts.append(
                f'<line class="{kind}" x1="{x}" y1="{y}" x2="{x + right:.1f}" y2="{y + down:.1f}"/>'
            )
        parts.append(label(x, 262, f"rotation {block + 1}", size=13))
    caption = (
        "Two similar vectors (their angle is that of the two texts above) and the vertices of a "
        "cross-polytope, here in two dimensions.  The key is the nearest vertex.  One rotation "
        "may part the two vectors, and another one gives both the same key."
    )
    return figure("Cross-polytope keys", 272, parts, caption)


def bands() -> str:
    """Draw how likely banding compares two signatures, for three divisions of 128 minima."""
    x, y, width, height = 56, 20, 600, 190
    parts = [f'<rect class="line" x="{x}" y="{y}" width="{width}" height="{height}"/>']
    similarities = np.linspace(0, 1, 121)
    shown = ((32, 4, "curve"), (16, 8, "other"), (8, 16, "curve"))
    for bands_count, rows, kind in shown:
        banding = Banding(bands_count, rows)
        chances = np.array([candidate_probability(each, banding) for each in similarities])
        points = zip(x + similarities * width, y + (1 - chances) * height, strict=True)
        path = " ".join(f"{right:.1f},{down:.1f}" for right, down in points)
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
        middle = float(similarities[int(np.argmax(chances >= 0.5))])
        text = f"{bands_count} x {rows}"
        parts.append(label(x + middle * width - 8, y + height / 2, text, size=13, anchor="end"))
    for share in (0, 0.5, 1):
        parts.append(label(x + share * width, y + height + 18, f"{share:g}", size=12))
        down = y + (1 - share) * height + 4
        parts.append(label(x - 8, down, f"{share:g}", size=12, anchor="end"))
    parts.append(label(x + width / 2, y + height + 36, "Jaccard similarity", size=13))
    caption = (
        "The chance that two documents are compared, by their similarity: 128 minima as bands x "
        "rows.  More rows move the step to the right, more bands to the left."
    )
    return figure("The curve of banding", 252, parts, caption)


def top_bits(bits: int, count: int) -> int:
    """Return the `count` most significant of 64 bits."""
    return bits >> (64 - count)


def bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Draw a filled rectangle."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width}" height="{height:.1f}" '
        'rx="2"/>'
    )


def label(
    x: float, y: float, text: str, *, size: int, anchor: str = "middle", kind: str = ""
) -> str:
    """Draw a line of text."""
    marked = f' class="{kind}"' if kind else ""
    return (
        f'<text{marked} x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">'
        f"{html.escape(text)}</text>"
    )


def figure(title: str, height: int, parts: list[str], caption: str) -> str:
    """Put a drawing and its caption together, without empty lines, as Markdown demands."""
    return "\n".join(
        [
            '<figure class="picture">',
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
            *parts,
            "</svg>",
            f"<figcaption>{html.escape(caption)}</figcaption>",
            "</figure>",
        ]
    )


PICTURES = {"weights": weights, "table": table, "polytope": polytope, "bands": bands}

if __name__ == "__main__":
    main()
