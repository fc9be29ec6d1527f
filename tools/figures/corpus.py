"""The corpus: real documents, made on this machine of what Debian packages and PyPI sdists contain.

    python tools/figures/corpus.py -n 300k

Each package is fetched with `apt-get download` or `pip download`, its pages are read from the
archive without unpacking it, and their texts are written to one file of JSON lines in the cache, a
folder outside the repository.  A later call reads these files and fetches only what is missing.

As in Sood & Loguinov 2011, section 6, pages of less than 5 KB and exact duplicates are left out.
So are pages with less than 1 KB of text, and what follows the first pages of a large package, so
that no package is most of the corpus.  Nothing is chosen by its similarity to anything.

Where no package can be fetched, the corpus is made of the files of this machine's Python and of its
documentation, which are fewer and hold few near-duplicates; `Corpus.origin` says so.
"""

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packages import SDISTS, debian
from simdb.settings.options import Simhash
from simdb.sketch.markup import Markup

PAGE_BYTES = 5_000  # smaller pages are left out, as in the paper
PAGE_BYTES_MAX = 300_000
TEXT_BYTES = 1_000
PACKAGE_PAGES = 6_000
BATCH = 200
SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")
PLAIN = (".rst", ".txt", ".md")
OFFLINE_SUFFIXES = (".py", *PLAIN)
ONLINE, OFFLINE = "Debian packages and PyPI sdists", "files of this machine (no network)"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts, the source of each, and in words where they come from."""

    texts: list[str]
    sources: list[str]
    origin: str


def cache_folder() -> Path:
    """Return the folder of fetched packages and texts, outside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SIMDB_FIGURES_CACHE") or Path(base) / "simdb-figures")


def read(count: int, cache: Path, *, jobs: int = 2, is_offline: bool = False) -> Corpus:
    """Return up to `count` documents; fetch packages until there are as many."""
    online = [] if is_offline else list(_made(count, cache, jobs))
    texts, sources = _distinct(online, count)
    if texts:
        return Corpus(texts, sources, ONLINE)
    found = cache / "offline.jsonl.gz"
    if not found.exists():
        _write(found, _local_pages())
    texts, sources = _distinct([found], count)
    return Corpus(texts, sources, OFFLINE)


def _distinct(files: list[Path], count: int) -> tuple[list[str], list[str]]:
    """Read texts until there are `count`, without exact duplicates."""
    texts: list[str] = []
    sources: list[str] = []
    seen: set[bytes] = set()
    for path in files:
        for text in _texts(path):
            digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
            if digest not in seen and len(texts) < count:
                seen.add(digest)
                texts.append(text)
                sources.append(path.name.partition(".jsonl")[0])
    return texts, sources


def _texts(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def _made(count: int, cache: Path, jobs: int) -> Iterator[Path]:
    """Yield the file of texts of each package, until `count` pages are in them."""
    cache.mkdir(parents=True, exist_ok=True)
    enough, failures = 0, 0
    names = [*debian(), *SDISTS]
    with ProcessPoolExecutor(jobs) as workers:
        for start in range(0, len(names), 2 * jobs):
            made = list(workers.map(_package, names[start : start + 2 * jobs], [cache] * 2 * jobs))
            for path in made:
                if path is None:
                    failures += 1
                    continue
                enough += _counted(path)
                yield path
                if enough >= count * 1.1 + 100:
                    return
            if failures >= 2 * jobs and enough == 0:
                return  # no network


def _counted(path: Path) -> int:
    return int(path.with_suffix("").with_suffix(".count").read_text())


def _package(name: str, cache: Path) -> Path | None:
    """Make the texts of one package unless they are there; None if it cannot be fetched."""
    target = cache / f"{name.replace('==', '-')}.jsonl.gz"
    counted = target.with_suffix("").with_suffix(".count")
    if target.exists() and counted.exists():
        return target
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        fetched = _sdist(name, folder) if "==" in name else _deb(name, folder)
        if fetched is None:
            return None
        pages = _plain_pages(fetched) if "==" in name else _html_texts(_members(fetched))
        written = _write(target, pages)
    counted.write_text(f"{written}\n")
    return target


def _write(target: Path, texts: Iterator[str]) -> int:
    """Write texts that are long enough; return their number."""
    written = 0
    unfinished = target.with_suffix(f".{os.getpid()}")
    with gzip.open(unfinished, "wt", compresslevel=1, encoding="utf-8") as out:
        for text in texts:
            if len(text) >= TEXT_BYTES:
                out.write(json.dumps({"text": text}) + "\n")
                written += 1
    unfinished.rename(target)
    return written


def _deb(name: str, folder: str) -> Path | None:
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", "-q", name]
    return _fetched(command, folder, "*.deb")


def _sdist(name: str, folder: str) -> Path | None:
    command = [
        sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name,
    ]  # fmt: skip
    return _fetched(command, folder, "*.tar.gz")


def _fetched(command: list[str], folder: str, pattern: str) -> Path | None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    return next(iter(Path(folder).glob(pattern)), None)


def _members(package: Path) -> Iterator[bytes]:
    """Yield the first pages of a Debian package, as they are in the archive."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive,
    ):
        found = 0
        for member in archive:
            if not member.isfile() or not member.name.endswith(SUFFIXES):
                continue
            content = _content(archive, member)
            if PAGE_BYTES <= len(content) <= PAGE_BYTES_MAX:
                yield content
                found += 1
                if found == PACKAGE_PAGES:
                    unpacking.kill()
                    return


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    content = b"" if file is None else file.read()
    if not member.name.endswith(".gz"):
        return content
    with contextlib.suppress(OSError, EOFError):
        return gzip.decompress(content)
    return b""


def _html_texts(pages: Iterator[bytes]) -> Iterator[str]:
    """Yield the visible text of each page; pages that the parser refuses are left out."""
    markup = Markup(Simhash(markup="html"))
    for page in pages:
        with contextlib.suppress(ValueError):
            yield _string(markup.apply([page], replace=True, start=0)[0])


def _string(text: Any) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _plain_pages(package: Path) -> Iterator[str]:
    """Yield the pages of documentation in a source distribution."""
    with tarfile.open(package) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(PLAIN):
                content = _content(archive, member)
                if PAGE_BYTES <= len(content) <= PAGE_BYTES_MAX:
                    yield content.decode("utf-8", "replace")


def _local_pages() -> Iterator[str]:
    """Yield the sources of the standard library, of installed packages, and their documents."""
    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "/usr/share/doc"}
    for folder in sorted(folders):
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix not in OFFLINE_SUFFIXES or not path.is_file():
                continue
            with contextlib.suppress(OSError):
                content = path.read_bytes()
                if PAGE_BYTES <= len(content) <= PAGE_BYTES_MAX:
                    yield content.decode("utf-8", "replace")


def number(text: str) -> int:
    """Parse a whole number such as 200000, 200k or 10M."""
    multiples = {"k": 1_000, "M": 1_000_000}
    if text[-1:] in multiples:
        return int(float(text[:-1]) * multiples[text[-1]])
    return int(text)


def main() -> None:
    """Make the corpus, and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=number, default=300_000, help="documents")
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--offline", action="store_true")
    arguments = parser.parse_args()
    corpus = read(arguments.n, arguments.cache, jobs=arguments.jobs, is_offline=arguments.offline)
    print(
        f"{len(corpus.texts):,} documents of {len(set(corpus.sources))} packages: {corpus.origin}"
    )
    print(f"{sum(map(len, corpus.texts)):,} characters in {arguments.cache}")


if __name__ == "__main__":
    main()
