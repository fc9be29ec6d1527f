"""Markup: extracts the visible text of HTML pages.

Only this module imports `selectolax`, an optional package.  Its Lexbor parser builds the same tree
as browsers do, for any page.  The tree is walked without recursion.  The begin and the end of a
block separate words; tags inside a line, as in "<b>near</b>dup", do not.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from simdb.ground.errors import InputError, OptionError
from simdb.settings.text_sketch import TextSketch
from simdb.sketch.encoding import decoded, page_encoding
from simdb.sketch.nesting import check_nesting

REMEDY = "pip install selectolax"

# A browser shows nothing of these elements, or something other than their text.
HIDDEN_TAGS = """
    audio canvas datalist head iframe noembed noframes noscript object rp script style svg template
    title video
"""
# Elements that are in no list are parts of a line.
BLOCK_TAGS = """
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html img
    input legend li listing main menu nav ol optgroup option p plaintext pre search section select
    summary table tbody td textarea tfoot th thead tr ul xmp
"""
LINK_TAGS = "a"
TEXT, BLOCK, LINE, LINK, HIDDEN = range(5)
GAP = "\n"
# It marks where a line break may split a word, and does not belong to the word.
SOFT_HYPHEN = "\u00ad"


class Markup:
    """The step of the pipeline from pages to texts."""

    def __init__(self, options: TextSketch) -> None:
        """Raise OptionError if the parser is not installed."""
        self._parser = _load()
        self._has_title = options.html_title
        self._has_links = options.html_links
        self._repeats = _repeats(tuple(options.html_weights))

    def apply(self, pages: Sequence[str | bytes], *, replace: bool, start: int) -> list[str]:
        """Return the text of each page; error messages number the pages from `start`."""
        return [
            self._visible(_content(page, position, replace), position)
            for position, page in enumerate(pages, start)
        ]

    def _visible(self, content: bytes, position: int) -> str:
        """Return the visible text of a page in UTF-8, and its title and links if asked for."""
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
        pieces = _walked(tree.root, _kinds(), hidden, links, self._repeats)
        if title is not None:
            times = 1 + self._repeats.get(title.tag_id, 0)
            pieces = [*[title.text(), GAP] * times, *pieces]
        if self._has_links:
            pieces += [GAP + link for link in links]
        return "".join(pieces).replace(SOFT_HYPHEN, "").strip()


def as_read(texts: Sequence[Any], sketch: TextSketch) -> list[Any]:
    """Return texts as a reader sees them: the visible text of HTML if `sketch` reads HTML.

    None stays None, and so does a page that cannot be read.
    """
    if sketch.markup == "none":
        return list(texts)
    markup = Markup(sketch)
    return [text if text is None else _or_itself(markup, text) for text in texts]


def _or_itself(markup: Markup, page: str | bytes) -> str | bytes:
    try:
        return markup.apply([page], replace=True, start=0)[0]
    except InputError:
        return page


def parser_version() -> str:
    """Give the version of the installed parser, or "" if it is not installed."""
    # Loaded when needed: with all that it imports it is a tenth of the import of simdb.
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version("selectolax"))
    except metadata.PackageNotFoundError:
        return ""


def _content(page: str | bytes, position: int, replace: bool) -> bytes:
    """Return a page in UTF-8 without a byte order mark."""
    if isinstance(page, bytes):
        encoding, skipped = page_encoding(page)
        page = decoded(page[skipped:], encoding, position=position, replace=replace)
    try:
        return page.removeprefix("\ufeff").encode("utf-8", "replace" if replace else "strict")
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

    `hidden`: the nodes that have the attribute `hidden`.  `repeats`: by tag, how often the text of
    an element comes once more, as blocks at the end.
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
    """Return how often the text of an element is repeated, by its parser's tag number."""
    parser = _load()
    pairs = (each.split("=") for each in weights)
    return {parser.create_tag(tag).tag_id: int(weight) - 1 for tag, weight in pairs}


@cache
def _kinds() -> dict[int, int]:
    """Return the kind of each element (TEXT, BLOCK, LINK or HIDDEN) by its parser's tag number."""
    parser = _load()
    numbers = {parser.LexborHTMLParser("text").body.first_child.tag_id: TEXT}
    kinds = {BLOCK: BLOCK_TAGS, HIDDEN: HIDDEN_TAGS, LINK: LINK_TAGS}
    for kind, tags in kinds.items():
        numbers.update((parser.create_tag(tag).tag_id, kind) for tag in tags.split())
    return numbers


@cache
def _load() -> Any:
    """Import the parser; OptionError if it is not installed."""
    try:
        return import_module("selectolax.lexbor")
    except ImportError as error:
        raise OptionError(f"markup='html' needs the package selectolax: {REMEDY}") from error
