"""Corpus: makes real documents on this machine from Debian packages.

Each package is fetched with `apt-get download`, and its pages are read from the archive without
unpacking it.  The texts are written to a file of JSON lines in the cache, a folder outside the
repository.  A later call reads these files and fetches only missing ones.

As in Sood & Loguinov 2011, section 6, pages of less than 5 KB and exact duplicates are excluded.
So are pages with less than 1 KB of text, and all but the first pages of a large package, so that no
package dominates the corpus.  Nothing is chosen by similarity.

If no package can be fetched, the corpus is made from the files of this machine's Python and its
documentation.  These are fewer, with few near-duplicates; `Corpus.origin` says so.
"""

import contextlib
import gzip
import hashlib
import json
import os
import subprocess
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from simdb.core.decoding import decoded
from simdb.core.options import Simhash
from simdb.sketch.markup import Markup

PAGE_BYTES = 5_000  # smaller pages are excluded, as in the paper
PAGE_BYTES_MAX = 300_000
TEXT_BYTES = 1_000
PACKAGE_PAGES = 6_000
BATCH = 200
JOBS = 2  # processes that read packages
SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")
OFFLINE_SUFFIXES = (".py", ".rst", ".txt", ".md")
ONLINE, OFFLINE = "Debian packages", "files of this machine (no network)"
# Packages with documentation in HTML, in the order in which they are fetched.  Many of a line are
# adjacent versions, or one library documented for several languages, so their pages are natural
# near-duplicates.  Packages that this machine's release lacks are skipped.
FAMILIES = (
    "llvm-13-doc llvm-14-doc llvm-15-doc llvm-16-doc llvm-19-doc",
    "libboost1.74-doc libboost1.81-doc",
    "libbiojava4-java-doc libbiojava5-java-doc libbiojava6-java-doc",
    "libgtkmm-2.4-doc libgtkmm-3.0-doc libgtkmm-4.0-doc libglibmm-2.4-doc libglibmm-2.68-doc",
    "libstdc++-11-doc libstdc++-12-doc",
    "libcommons-math-java-doc libcommons-math3-java-doc libcommons-lang3-java-doc",
    "libdune-grid-doc libdune-istl-doc libdune-common-doc libdune-localfunctions-doc",
    "python3.11-doc python-django-doc python-sqlalchemy-doc apache2-doc cmake-doc gradle-doc",
    "ironic-doc cinder-doc heat-doc keystone-doc octavia-doc",
    "libxerces-c-doc libxerces2-java-doc libxalan-c-doc libxalan2-java-doc",
    "libghc-gi-gio-doc libghc-gi-glib-doc libghc-gi-gdk-doc libghc-gtk-doc libghc-gtk3-doc",
    "gnome-user-docs cargo-doc erlang-doc ghc-doc groovy-doc derby-doc fop-doc db5.3-doc",
    "libfastutil-java-doc libtrove3-java-doc libjogl2-java-doc libapache-poi-java-doc",
    "openjdk-17-doc libopenjfx-java-doc scala-doc",
    "libsbml5-doc libsbml5-perl-doc",
    "qtbase5-doc-html qtdeclarative5-doc-html wx3.2-doc fltk1.3-doc efl-doc ogre-1.12-doc",
    "dcmtk-doc libgecode-doc libpcl-doc libvisp-doc libcoin-doc openscenegraph-doc elastix-doc",
    "seqan3-doc libball1.5-doc libcrypto++-doc liblapack-doc libeigen3-doc libopenvdb-doc",
    "lilypond-doc-html twisted-doc python-pandas-doc python-dask-doc dpdk-doc rdkit-doc",
    "libghc-openglraw-doc libghc-agda-doc libghc-ghc-lib-parser-doc libghc-pandoc-doc",
    "libhbci4j-core-java-doc libjfreechart-java-doc libjmol-java-doc uima-doc weka-doc ant-doc",
    "singular-doc singular-dev-doc clhep-doc crystal-doc lorene-doc pike8.0-doc libjuce-doc",
    "libmed-doc libxcb-doc libpwiz-doc libviennacl-doc imagemagick-6-doc grass-dev-doc",
    "gnuradio-doc casacore-doc libarm-compute-doc libcegui-mk2-doc rheolef-doc dolfin-doc",
    "racket-doc simbody-doc petsc3.18-doc rust-doc rust-web-doc sagemath-doc",
    "sumo-doc libghc-gi-gtk-doc augustus-doc libbiojava-java-doc libghc-language-python-doc",
    "libghc-gi-gtk-hs-doc libgtk-4-doc cargo-web-doc libghc-lambdahack-doc halide14-api-doc",
    "libmwaw-doc sofia-sip-doc libsc-doc libvigraimpex-doc libghc-xmonad-contrib-doc",
)


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


def read(count: int, cache: Path, *, is_offline: bool = False) -> Corpus:
    """Return up to `count` documents; fetch packages until there are enough."""
    online = [] if is_offline else list(_made(count, cache))
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


def _made(count: int, cache: Path) -> Iterator[Path]:
    """Yield the file of texts of each package, until `count` pages are in them."""
    cache.mkdir(parents=True, exist_ok=True)
    enough, failures = 0, 0
    names = " ".join(FAMILIES).split()
    with ProcessPoolExecutor(JOBS) as workers:
        for start in range(0, len(names), 2 * JOBS):
            made = list(workers.map(_package, names[start : start + 2 * JOBS], [cache] * 2 * JOBS))
            for path in made:
                if path is None:
                    failures += 1
                    continue
                enough += _counted(path)
                yield path
                if enough >= count * 1.1 + 100:
                    return
            if failures >= 2 * JOBS and enough == 0:
                return  # no network


def _counted(path: Path) -> int:
    return int(path.with_suffix("").with_suffix(".count").read_text())


def _package(name: str, cache: Path) -> Path | None:
    """Make the texts of one package unless they are there; None if it cannot be fetched."""
    target = cache / f"{name}.jsonl.gz"
    counted = target.with_suffix("").with_suffix(".count")
    if target.exists() and counted.exists():
        return target
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", "-q", name]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
        for fetched in Path(folder).glob("*.deb"):
            written = _write(target, _html_texts(_members(fetched)))
            counted.write_text(f"{written}\n")
            return target
    return None


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
    """Yield the visible text of each page."""
    markup = Markup(Simhash(markup="html"))
    for page in pages:
        yield markup.apply([decoded(page, errors="replace")], replace=True, start=0)[0]


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
