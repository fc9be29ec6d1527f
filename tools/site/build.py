"""Build the documentation site: build/site/html/index.html.

python tools/site/build.py          (or `make docs`)

Warnings are errors, and so is a page that would load anything from the network.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pages import ROOT, write_pages

PLACE = ROOT / "build" / "site"
# Addresses that a browser fetches by itself, unlike links that a reader follows.
FETCH = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*>"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|icon|preconnect|dns-prefetch))"
    r"[^>]*\bhref=[\"']?(?:https?:)?//[^>]*>"
)
FETCH_IN_STYLE = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])(?:https?:)?//")


def main() -> int:
    """Build the site; return 0 if it is complete and loads nothing from elsewhere."""
    shutil.rmtree(PLACE, ignore_errors=True)
    count = write_pages(PLACE / "source")
    shutil.copy(ROOT / "tools" / "site" / "conf.py", PLACE / "source")
    shutil.copytree(ROOT / "tools" / "site" / "static", PLACE / "source" / "_static")
    found = re.search('^version = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert found is not None
    title = f"html_title=simdb {found[1]}"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    places = [str(PLACE / "source"), str(PLACE / "html")]
    done = subprocess.run([*command, "-D", title, *places], check=False)
    if done.returncode:
        return done.returncode
    if fetched := list(fetches(PLACE / "html")):
        print("\n".join(["the site loads from the network:", *fetched]), file=sys.stderr)
        return 1
    print(f"{count} pages: {PLACE / 'html' / 'index.html'}")
    return 0


def fetches(folder: Path) -> list[str]:
    """List what the pages and styles of a built site would load from other places."""
    found = []
    for pattern, suffix in ((FETCH, "html"), (FETCH_IN_STYLE, "css")):
        for path in sorted(folder.rglob(f"*.{suffix}")):
            text = path.read_text(encoding="utf-8")
            found += [f"{path.relative_to(folder)}: {each[0]}" for each in pattern.finditer(text)]
    return found


if __name__ == "__main__":
    sys.exit(main())
