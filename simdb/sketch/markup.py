"""Markup: the visible text of HTML pages, which are already decoded.

Only this module imports `selectolax`, an optional package.  Its Lexbor parser builds the tree that
browsers build, for any page.  The tree is walked without recursion.  The start and the end of a
block separate words; tags inside a line, as in "<b>near</b>dup", do not.

The parser can take time quadratic in the length of a page.  The causes are elements nested
thousands deep, thousands of attributes or options, and unclosed formatting elements, which are
opened again in every block.  So a long page, or a page with many tags, is first read tag by tag for
an upper bound of the cost.  If that is too high, the text is made by dropping tags: blocks separate
words; scripts, styles and comments are removed.  So any page gives a text in linear time, and equal
pages give equal texts.
"""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from importlib import import_module
from typing import Any

import numpy as np

from simdb.core.arrow import TextColumn, Texts
from simdb.core.checks import installed
from simdb.core.decoding import as_texts
from simdb.core.errors import InputError
from simdb.core.text_sketch import TextSketch

REMEDY = "pip install selectolax"

# A browser does not show the text of these elements.
HIDDEN_TAGS = """
    audio canvas datalist head iframe noembed noframes noscript object rp script style svg template
    title video
"""
# All elements in neither list are parts of a line.
BLOCK_TAGS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html img
    input legend li listing main menu nav ol optgroup option p plaintext pre search section select
    summary table tbody td textarea tfoot th thead tr ul xmp
"""
LINK_TAGS = "a"
TEXT, BLOCK, LINE, LINK, HIDDEN = range(5)
GAP = "\n"
MARK = codecs.BOM_UTF8
SOFT_HYPHEN = "\u00ad"  # a place where a line may break within a word, not a part of the word
# The parser takes some hundredths of a second for a page with at most these numbers of tags, bytes
# of a tag, formatting elements (except links) and options.
TAGS_FEW, TAG_BYTES_FEW = 10_000, 1 << 13
COSTLY_FEW, OPTIONS_FEW = 100, 2000
SMALL_TAGS = 2000  # pages with at most this number of tags may have any formatting elements
ATTRIBUTES_BYTES_FEW = 1 << 10  # attributes are counted only in longer tags
QUOTED_BYTES_FEW = 1 << 15  # of a tag with ">" in quoted values
# The limit of elements that the parser visits for all tags: some tenths of a second.
STEPS_MAX = 100_000_000
# Distinct names do not count in smaller pages.
NAMES_BYTES_FEW, LISTS = 1 << 19, 8
# The cost in steps of opening a formatting element again, and of passing over an option.
REOPENED_STEPS, OPTION_STEPS = 50, 3

# These elements have no end tag, or end where the next one begins, so alone they never nest deep.
FLAT = frozenset([b"br", b"img", b"li", b"p", b"td", b"tr", b"option", b"input", b"dd", b"dt",
                  b"th", b"hr", b"link", b"meta", b"wbr", b"area", b"base", b"col", b"embed",
                  b"param", b"source", b"track", b"tbody", b"thead", b"tfoot"])  # fmt: skip
FORMATTING = frozenset([b"a", b"b", b"big", b"code", b"em", b"font", b"i", b"nobr", b"s", b"small",
                        b"strike", b"strong", b"tt", b"u"])  # fmt: skip
RAW = frozenset([b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed",
                 b"noframes", b"noscript", b"plaintext"])  # fmt: skip
SLASHES = frozenset([b"/", b" /", b"\t/", b"\n/", b'"/', b"'/"])
ALIKE_MOST = 3  # the parser opens at most this number of equal formatting elements again
# The parser adds the attributes of repeated elements of these names to the first.
MERGED = frozenset([b"body", b"html"])
FOREIGN = frozenset([b"svg", b"math"])
# These may end foreign content, as blocks and formatting elements do, or may contain HTML.
BREAKING = frozenset([b"span", b"head", b"meta", b"embed", b"ruby", b"sub", b"sup", b"var", b"desc",
                      b"title", b"foreignobject", b"annotation-xml", b"mi", b"mo", b"mn", b"ms",
                      b"mtext"])  # fmt: skip
# The parser shows the raw content of these elements.
SHOWN_RAW = frozenset([b"textarea", b"xmp", b"plaintext"])

# As in the standard, a quotation mark counts only after an equals sign.
_TAG = re.compile(rb"""<!--|<(/?)([a-zA-Z][^\s/>]*)((?:[^>=]+|=\s*(?:"[^"]*"|'[^']*')?)*)""")
_NAME = re.compile(rb"""[\s/"']([^\s/>="']+)""")
_QUOTED_END = re.compile(rb"""=\s*(?:"[^">]*>|'[^'>]*>)""")
_COSTLY = re.compile(rb"<(?:b|big|code|em|font|i|s|small|strike|strong|tt|u|nobr)[\s/>]")
_COMMENT_END = re.compile(rb"--!?>")
_ATTRIBUTE = re.compile(rb"""[^\s/>=][^\s/>=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")


class Markup:
    """The step of the pipeline from pages to texts."""

    def __init__(self, options: TextSketch) -> None:
        """Raise OptionError if the parser is not installed."""
        self._parser = _load()
        self._has_title = options.html_title
        self._has_links = options.html_links
        self._repeats = _repeats(tuple(options.html_weights))

    def apply(self, pages: Texts, *, replace: bool, start: int) -> list[str]:
        """Return the text of each page; error messages number the pages from `start`."""
        return list(map(self._visible, _contents(pages, start, replace)))

    def _visible(self, content: bytes) -> str:
        """Return the visible text of a page in UTF-8, with title and links as the options say."""
        if is_slow(content):
            return without_tags(content, has_title=self._has_title)
        try:
            tree = self._parser.LexborHTMLParser(content, scripting=True)
        except (ValueError, RuntimeError):
            return without_tags(content, has_title=self._has_title)
        hidden: set[int] = set()
        if b"hidden" in content.lower():
            hidden = {node.mem_id for node in tree.css("[hidden]")}
        title = tree.css_first("head > title") if self._has_title else None
        links: list[str] = []
        pieces = _walked(tree.root, _kinds(), hidden, links, self._repeats)
        if title is not None:
            times = 1 + self._repeats.get(title.tag_id, 0)
            pieces = [*[title.text(), GAP] * times, *pieces]
        if self._has_links:
            pieces += [GAP + link for link in links]
        return "".join(pieces).replace(SOFT_HYPHEN, "").strip()


def as_read(texts: Sequence[Any], sketch: TextSketch) -> list[Any]:
    """Return texts as a reader sees them: the visible text of HTML if `sketch` reads HTML.

    None, and a page that cannot be read, are returned unchanged.
    """
    if sketch.markup == "none":
        return list(texts)
    markup, known = Markup(sketch), as_texts(list(texts), errors="replace")
    return [text if text is None else _or_itself(markup, text) for text in known]


def parser_version() -> str:
    """Return the version of the installed parser; "" if it is not installed."""
    # Loaded when needed: with its own imports it takes a tenth of the time of importing simdb.
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version("selectolax"))
    except metadata.PackageNotFoundError:
        return ""


def is_slow(page: bytes) -> bool:
    """Return whether the parser might need more than a moment for a page; no parsing is tried."""
    return not _is_ordinary(page) and _Reading(page).is_slow()


def _is_ordinary(page: bytes) -> bool:
    """Return whether counts of the costliest things show that a page is parsed in a moment."""
    tags = page.count(b"<")
    if tags > TAGS_FEW:
        return False
    codes = np.frombuffer(page, np.uint8)
    closings = np.flatnonzero(codes == ord(">"))
    longest = int(np.diff(closings, prepend=0, append=len(codes)).max(initial=0))
    # A tag continues after a ">" only within a quoted value.
    quoted = len(_QUOTED_END.findall(page)) * longest
    if longest > TAG_BYTES_FEW or quoted > QUOTED_BYTES_FEW:
        return False
    lower = page.lower()
    return (
        (tags <= SMALL_TAGS or len(_COSTLY.findall(lower)) <= COSTLY_FEW)
        and lower.count(b"<option") <= OPTIONS_FEW
        and lower.count(b"<body") + lower.count(b"<html") <= 2
    )


def without_tags(page: bytes, *, has_title: bool) -> str:
    """Return the text of a page without its tags, in linear time."""
    lower, pieces, title, at = page.lower(), [], b"", 0
    endless: set[bytes] = set()
    while (tag := _TAG.search(page, at)) is not None:
        pieces.append(page[at : tag.start()])
        at = tag.end()
        if tag[2] is None:
            at = _after_comment(page, tag.start())
            continue
        name = tag[2].lower()
        if name in _blocks():
            pieces.append(GAP.encode())
        if tag[1] or name not in _apart():
            at += page[at : at + 1] == b">"
            continue
        stop = -1 if name in endless else lower.find(b"</" + name, at)
        if stop < 0:
            endless.add(name)
            stop = len(page) if name in RAW else at
        inside = page[at:stop].removeprefix(b">")
        if name == b"title" and not title:
            title = inside
        pieces.append(inside if name in SHOWN_RAW else b"")
        at = stop
    known = b"".join([title if has_title else b"", GAP.encode(), *pieces, page[at:]])
    text = unescape(known.decode("utf-8", "replace"))
    return text.replace(SOFT_HYPHEN, "").strip()


def _or_itself(markup: Markup, page: str) -> str:
    try:
        return markup.apply([page], replace=True, start=0)[0]
    except InputError:
        return page


def _contents(pages: Texts, start: int, replace: bool) -> Iterator[bytes]:
    """Yield pages in UTF-8 without a byte order mark; raise InputError for a lone surrogate."""
    if isinstance(pages, TextColumn):
        yield from (content.removeprefix(MARK) for content in pages.contents())
        return
    for position, page in enumerate(pages, start):
        try:
            yield page.encode("utf-8", "replace" if replace else "strict").removeprefix(MARK)
        except UnicodeEncodeError as error:
            raise InputError(f"document {position} has a lone surrogate: {error}") from error


def _walked(
    root: Any,
    kinds: Mapping[int, int],
    hidden: Collection[int],
    links: list[str],
    repeats: Mapping[int, int],
) -> list[str]:
    """Return the pieces of visible text below `root`; append targets of visible links to `links`.

    `hidden`: the nodes that have the attribute `hidden`.  `repeats`: by tag, the number of times
    that the text of an element is repeated, as blocks at the end.
    """
    pieces: list[str] = []
    again: list[str] = []
    above: list[tuple[Any, int, int]] = []
    node = root
    while True:
        kind = kinds.get(node.tag_id, LINE)
        if kind == TEXT:
            pieces.append(node.text_content or "")
        elif kind != HIDDEN and not (hidden and node.mem_id in hidden):
            if kind == BLOCK:
                pieces.append(GAP)
            elif kind == LINK:
                links.append(node.attributes.get("href") or "")
            child = node.first_child
            if child is not None:
                above.append((node, kind, len(pieces)))
                node = child
                continue
        following = node.next
        while following is None:
            if not above:
                return pieces + again
            node, kind, begun = above.pop()
            if repeats and node.tag_id in repeats:
                again += [GAP, *pieces[begun:], GAP] * repeats[node.tag_id]
            if kind == BLOCK:
                pieces.append(GAP)
            following = node.next
        node = following


@cache
def _repeats(weights: tuple[str, ...]) -> dict[int, int]:
    """Return the number of repetitions of the text of an element, by the parser's tag number."""
    parser = _load()
    pairs = (each.split("=") for each in weights)
    return {parser.create_tag(tag).tag_id: int(weight) - 1 for tag, weight in pairs}


@cache
def _kinds() -> dict[int, int]:
    """Return the kind of each element (TEXT, BLOCK, LINK or HIDDEN) by the parser's tag number."""
    parser = _load()
    numbers = {parser.LexborHTMLParser("text").body.first_child.tag_id: TEXT}
    kinds = {BLOCK: BLOCK_TAGS, HIDDEN: HIDDEN_TAGS, LINK: LINK_TAGS}
    for kind, tags in kinds.items():
        numbers.update((parser.create_tag(tag).tag_id, kind) for tag in tags.split())
    return numbers


@cache
def _load() -> Any:
    """Import the parser; raise OptionError if it is not installed."""
    return installed("selectolax.lexbor", f"markup='html' needs the package selectolax: {REMEDY}")


@cache
def _blocks() -> frozenset[bytes]:
    return frozenset(tag.encode() for tag in BLOCK_TAGS.split())


@cache
def _apart() -> frozenset[bytes]:
    """Return the elements whose content is hidden or shown raw."""
    hidden = frozenset(tag.encode() for tag in HIDDEN_TAGS.split()) - {b"head", b"rp"}
    return hidden | RAW


class _Reading:
    """A reader of the tags of one page, which sums an upper bound of their cost for the parser.

    Here an end tag closes only the last element of its name; in the parser it may close more.
    """

    def __init__(self, page: bytes) -> None:
        """Start at the first tag of `page`."""
        self._page = page
        self._open: Counter[bytes] = Counter()
        self._depth = self._steps = self._options = self._merged = 0
        # Formatting elements that were not closed, although a block around them may be.
        self._formatting: dict[bytes, Counter[bytes]] = {}
        self._formatting_count = 0
        self._has_foreign = self._is_foreign = False
        # The parser searches names of elements and attributes in a fixed number of short lists.
        self._names: set[bytes] = set()
        self._has_names = len(page) > NAMES_BYTES_FEW

    def is_slow(self) -> bool:
        """Return whether the cost exceeds the limit."""
        at, page = 0, self._page
        while (tag := _TAG.search(page, at)) is not None and self._steps <= STEPS_MAX:
            at = tag.end()
            if tag[2] is None:
                at = _after_comment(page, tag.start())
                continue
            name = tag[2].lower()
            self._steps += self._depth
            if self._has_names:
                self._names.update((name, *_NAME.findall(tag[3])))
                self._steps += len(self._names) // LISTS
            if tag[1]:
                self._close(name)
                continue
            self._begin(name, tag[3])
            # Within a select or foreign content, tags in raw elements are tags.
            if name in RAW and not self._has_foreign and not self._open[b"select"]:
                found = re.compile(rb"</" + name, re.IGNORECASE).search(page, at)
                at = len(page) if found is None else found.start()
        return self._steps > STEPS_MAX

    def _begin(self, name: bytes, attributes: bytes) -> None:
        """Count an opening tag."""
        self._steps += REOPENED_STEPS * self._formatting_count
        if len(attributes) > ATTRIBUTES_BYTES_FEW or name in MERGED:
            count = sum(1 for _ in _ATTRIBUTE.finditer(attributes))
            self._merged += count if name in MERGED else 0
            self._steps += count * max(count // 2, self._merged)
        if name == b"option":
            self._options += 1
            self._steps += OPTION_STEPS * self._options
        elif name == b"select":
            self._options = 0
        elif name in FOREIGN:
            self._has_foreign = self._is_foreign = True
        elif name in BREAKING or name in FORMATTING or name in _blocks():
            self._is_foreign = False
        # Outside foreign content, a slash closes nothing.
        is_closed = self._is_foreign and attributes[-2:] in SLASHES
        if name not in FLAT and not is_closed:
            self._open[name] += 1
            self._depth += 1
        if name in FORMATTING:
            alike = self._formatting.setdefault(name, Counter())
            if name in (b"a", b"nobr"):
                self._formatting_count -= alike.total()
                alike.clear()
            if alike[attributes] < ALIKE_MOST:
                alike[attributes] += 1
                self._formatting_count += 1

    def _close(self, name: bytes) -> None:
        """Count a closing tag."""
        if name in FOREIGN or name in (b"p", b"br"):
            self._is_foreign = False
        if self._open[name]:
            self._open[name] -= 1
            self._depth -= 1
        alike = self._formatting.get(name)
        if alike:
            youngest = next(reversed(alike))
            alike[youngest] -= 1
            self._formatting_count -= 1
            if not alike[youngest]:
                del alike[youngest]


def _after_comment(page: bytes, start: int) -> int:
    """Return the position after the comment that begins at `start`, or the end of the page."""
    # "<!-->" is a whole comment.
    found = _COMMENT_END.search(page, start + 2)
    return len(page) if found is None else found.end()
