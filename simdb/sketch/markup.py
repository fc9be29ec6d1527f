"""Markup: the visible text of an HTML page.

The only door to `selectolax`, which the extra `html` installs: its Lexbor parser makes of any page
the tree that browsers make.  The tree is walked without recursion.  Where a block begins or ends
words are apart; inside a line, as in "<b>near</b>dup", they are not.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from typing import Any

from simdb.errors import InputError, OptionError
from simdb.sketch.encoding import decoded, page_encoding
from simdb.sketch.nesting import check_nesting
from simdb.text_sketch import TextSketch

REMEDY = "pip install 'simdb[html]'"

# Of these a browser shows nothing, or something else in their place.
HIDDEN_TAGS = """
    audio canvas datalist head iframe noembed noframes noscript object rp script style svg template
    title video
"""
# Whatever is in no list is a part of a line.
BLOCK_TAGS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html img
    input legend li listing main menu nav ol optgroup option p plaintext pre search section select
    summary table tbody td textarea tfoot th thead tr ul xmp
"""
LINK_TAGS = "a"
TEXT, BLOCK, LINE, LINK, HIDDEN = range(5)
GAP = "\n"
# It says where a word may be cut at the end of a line, and is no part of it.
SOFT_HYPHEN = "\u00ad"


class Markup:
    """The step from pages to texts."""

    def __init__(self, options: TextSketch) -> None:
        """OptionError where the parser is not installed."""
        self._parser = _load()
        self._has_title = options.html_title
        self._has_links = options.html_links

    def apply(self, pages: Sequence[str | bytes], *, replace: bool, start: int) -> list[str]:
        """The text of each page; messages count from `start`."""
        return [
            self._visible(_content(page, position, replace), position)
            for position, page in enumerate(pages, start)
        ]

    def _visible(self, content: bytes, position: int) -> str:
        check_nesting(content, position)
        try:
            tree = self._parser.LexborHTMLParser(content, scripting=True)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"document {position} cannot be read as HTML: {error}") from error
        hidden: set[int] = set()
        if b"hidden" in content.lower():
            hidden = {node.mem_id for node in tree.css("[hidden]")}
        title = tree.css_first("head > title") if self._has_title else None
        links: list[str] = []
        pieces = _walked(tree.root, _kinds(), hidden, links)
        if title is not None:
            pieces = [title.text(), GAP, *pieces]
        if self._has_links:
            pieces += [GAP + link for link in links]
        return "".join(pieces).replace(SOFT_HYPHEN, "").strip()


def parser_version() -> str:
    """The version of the parser; "" where there is none."""
    try:
        return metadata.version("selectolax")
    except metadata.PackageNotFoundError:
        return ""


def _content(page: str | bytes, position: int, replace: bool) -> bytes:
    """A page as UTF-8 without a byte order mark."""
    if isinstance(page, bytes):
        encoding, skipped = page_encoding(page)
        page = decoded(page[skipped:], encoding, position=position, replace=replace)
    try:
        return page.removeprefix("\ufeff").encode("utf-8", "replace" if replace else "strict")
    except UnicodeEncodeError as error:
        raise InputError(f"document {position} has a lone surrogate: {error}") from error


def _walked(
    root: Any, kinds: Mapping[int, int], hidden: Collection[int], links: list[str]
) -> list[str]:
    """The pieces of visible text below `root`; the targets of visible links go to `links`."""
    pieces: list[str] = []
    above: list[tuple[Any, int]] = []
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
                above.append((node, kind))
                node = child
                continue
        following = node.next
        while following is None:
            if not above:
                return pieces
            node, kind = above.pop()
            if kind == BLOCK:
                pieces.append(GAP)
            following = node.next
        node = following


@cache
def _kinds() -> dict[int, int]:
    """What to do with a node, by the parser's number of its tag."""
    parser = _load()
    numbers = {parser.LexborHTMLParser("text").body.first_child.tag_id: TEXT}
    kinds = {BLOCK: BLOCK_TAGS, HIDDEN: HIDDEN_TAGS, LINK: LINK_TAGS}
    for kind, tags in kinds.items():
        numbers.update((parser.create_tag(tag).tag_id, kind) for tag in tags.split())
    return numbers


@cache
def _load() -> Any:
    try:
        return import_module("selectolax.lexbor")
    except ImportError as error:
        raise OptionError(f"markup='html' needs the package selectolax: {REMEDY}") from error
