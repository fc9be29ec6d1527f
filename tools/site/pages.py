"""Make the pages of the site from docs/site/, which includes parts of the other documents.

A page of docs/site/ is Markdown in which such a line stands for something else:

    {{ recipe: HEADING }}       the section of docs/RECIPES.md with this heading
    {{ document: PATH }}        a document of the project, such as docs/FORMAT.md
    {{ verb: Database.query }}  signature and docstring, from the source
    {{ picture: bands }}        a drawing of tools/site/drawings.py
    {{ example: crawler }}      a program of examples/
    {{ commands: all }}         every command with its options, from its own help

A section of docs/RECIPES.md that no page includes becomes a page of its own.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import api
import commands
import drawings

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
RECIPES = ROOT / "docs" / "RECIPES.md"
DIRECTIVE = re.compile(r"^\{\{ (\w+): (.+?) \}\}$", re.MULTILINE)
FENCED = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
# A document that is named in a sentence, and is not part of a link, a path or a piece of code.
NAMED = re.compile(r"(?<![\w/`\[])(?<!\]\()((?:docs/)?[A-Z]{3,}\.md)(?![\w`\]])")


def write_pages(folder: Path) -> int:
    """Write all pages, as Sphinx reads them, into `folder`; return their number."""
    pages = all_pages()
    for name, text in pages.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for pictures in ("growth", "results"):
        shutil.copytree(ROOT / "docs" / pictures, folder / pictures)
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    return len(pages)


@lru_cache(maxsize=1)
def all_pages() -> dict[str, str]:
    """Return the text of each page by its name, such as `how-to/images.md`."""
    sources = {
        str(path.relative_to(SITE)): path.read_text(encoding="utf-8")
        for path in sorted(SITE.rglob("*.md"))
    }
    included = {
        argument
        for text in sources.values()
        for kind, argument in DIRECTIVE.findall(text)
        if kind == "recipe"
    }
    for heading in recipes():
        if heading not in included:
            sources[f"how-to/{slug(heading)}.md"] = f"# {heading}\n\n{{{{ recipe: {heading} }}}}\n"
    places = document_places(sources)
    return {name: expand(name, text, places) for name, text in sources.items()}


def recipes() -> dict[str, str]:
    """Return the sections of docs/RECIPES.md by their headings."""
    parts = re.split(r"^## (.+)$", RECIPES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def slug(heading: str) -> str:
    """Make a file name of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def document_places(sources: dict[str, str]) -> dict[str, str]:
    """Return the page that includes each document, by the path of the document."""
    places = {
        argument: name
        for name, text in sources.items()
        for kind, argument in DIRECTIVE.findall(text)
        if kind in {"document", "built"}
    }
    return {**places, "docs/RECIPES.md": "how-to/index.md", "README.md": "index.md"}


def expand(name: str, text: str, places: dict[str, str]) -> str:
    """Replace the directives of a page, with links that lead to pages."""
    inserts: dict[str, Callable[[str], str]] = {
        "recipe": lambda heading: linked(recipes()[heading], "docs/RECIPES.md", name, places),
        "document": lambda path: linked(whole(path), path, name, places),
        "built": lambda path: linked(api.reference().reference(), path, name, places),
        "verb": lambda verb: linked(api.verb(verb), "build/REFERENCE.md", name, places),
        "picture": lambda picture: drawings.PICTURES[picture](),
        "example": program,
        "commands": lambda _: commands.described(),
    }
    return DIRECTIVE.sub(lambda found: inserts[found[1]](found[2]).strip("\n"), text)


def whole(path: str) -> str:
    """Read a document, whose own title becomes the title of the page."""
    return (ROOT / path).read_text(encoding="utf-8")


def program(name: str) -> str:
    """Return a program of examples/ as a block of code; its own tests run it."""
    text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
    return f"```{{code-block}} python\n:caption: examples/{name}.py\n\n{text}```"


def linked(text: str, origin: str, page: str, places: dict[str, str]) -> str:
    """Let the links of `text`, written in the document `origin`, lead to pages as seen from `page`.

    A link to a file that is no page becomes the name of the file.
    """

    def follow(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if "://" in target:
            return found[0]
        path = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        if path in places:
            return f"]({relative(places[path], page)}{anchor})"
        return f"](/{os.path.relpath(path, 'docs')})" if path.endswith(".svg") else "](#)"

    def name(found: re.Match[str]) -> str:
        path = found[1] if found[1] in places else f"docs/{found[1].removeprefix('docs/')}"
        if path not in places or places[path] == page:
            return found[0]
        return f"[{path.removeprefix('docs/')}]({relative(places[path], page)})"

    parts = FENCED.split(text)
    for at in range(0, len(parts), 2):
        links = LINK.sub(follow, parts[at]).replace("](#)", "]")
        parts[at] = "".join(
            line if line.startswith("    ") else NAMED.sub(name, line)
            for line in links.splitlines(keepends=True)
        )
    return "".join(parts)


def relative(target: str, page: str) -> str:
    """Write the path of one page as seen from another."""
    return os.path.relpath(target, os.path.dirname(page) or ".")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of each block of code; indented blocks have no language."""
    fence = re.compile(
        r"^( *)```([\w-]*)\n(.*?)^ *```$|((?:^    [^\n]*\n(?:\n(?=    ))?)+)", re.M | re.S
    )
    for found in fence.finditer(text):
        if found[4] is not None:
            before = text[: found.start()].rstrip(" ")
            if before.endswith("\n\n"):
                yield "", "".join(line[4:] + "\n" for line in found[4].splitlines())
        else:
            indent = len(found[1])
            lines = found[3].splitlines()
            yield found[2], "".join(line[indent:] + "\n" for line in lines)
