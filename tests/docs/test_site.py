"""The pages of the site: every block runs, and prints what the page shows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import doc_blocks
import doc_preparation
import pytest
from doc_blocks import Page, pages

import simdb
from simdb.cli import NAMES as NAMES_OF_COMMANDS
from simdb.database.maintenance import advice

# Each how-to page of its own, with what makes the files that its reader has.
JOBS = {
    "files": doc_preparation.files,
    "day-by-day": lambda place: (doc_preparation.days(place), doc_preparation.led(place)),
    "parts": doc_preparation.parts,
    "backup": lambda place: doc_preparation.pages_database(place, simdb),
    "decontaminate": doc_preparation.leaking,
    "contained": doc_preparation.library,
    "agents": lambda place: None,
    "sql": lambda place: None,
    "crawls": doc_preparation.crawls,
    "crawlers": doc_preparation.night,
}
# Pages whose reader has names at hand, with what defines them.
TEXTS = f"""
texts = ["{doc_preparation.HARBOUR}", "{doc_preparation.BREAD}", "{doc_preparation.NEST}"]
"""
STORED = f"""
import simdb
{TEXTS}
database = simdb.open("stored.simdb")
database.insert_many(["page 1", "page 2", "page 3"], texts)
database.insert_many(map(str, range(9)), [f"{{texts[0]}} {{number}}" for number in range(9)])
"""
VECTORS = """
import numpy as np
ids, embeddings = ["a", "b"], np.eye(2, 384, dtype=np.float32)
queries, texts = embeddings, ["one text", "another text"]
try:
    from sklearn.feature_extraction.text import TfidfVectorizer
except ImportError:
    from scipy.sparse import csr_matrix
    class TfidfVectorizer:
        def fit_transform(self, texts):
            return csr_matrix(np.ones((len(texts), 384), np.float32))
"""
IMAGES = """
from random import Random
from PIL import Image
paths = ["harbour.jpg", "bridge.jpg"]
for seed, path in enumerate(paths, 1):
    colours = Image.frombytes("RGB", (24, 24), Random(seed).randbytes(24 * 24 * 3))
    colours.resize((512, 512), Image.Resampling.BICUBIC).save(path)
with Image.open("harbour.jpg") as image:
    image.resize((256, 256)).save("copy.jpg", quality=60)
def film(path, left, sizes):
    frames = [Image.effect_mandelbrot((128, 128), (left, 0, left + at, at), 60) for at in sizes]
    frames[0].save(path, save_all=True, append_images=frames[1:])
film("zoom.gif", -1.5, [1.2, 1.0, 0.8, 0.6, 0.4])
film("part-of-zoom.gif", -1.5, [1.0, 0.8])
film("shore.gif", -0.2, [1.2, 0.9, 0.6])
hashes = [Random(seed).getrandbits(256) for seed in range(3)]
with open("hashes.jsonl", "w") as file:
    for name, value in zip("abcd", [*hashes, hashes[1] ^ 7]):
        print(f'{{"id": "{name}.jpg", "pdq": "{value:064x}"}}', file=file)
try:
    import faiss, numpy
    from threatexchange.signal_type.pdq.pdq_index import PDQIndex
except ImportError:
    pass
else:
    entries = [(f"{at:064x}", {"bank": at}) for at in (1, 3, 7)]
    with open("pdq.index", "wb") as file:
        PDQIndex.build(entries).serialize(file)
    flat = faiss.IndexBinaryFlat(256)
    flat.add(numpy.arange(96, dtype="uint8").reshape(3, 32))
    faiss.write_index_binary(flat, "flat.index")
"""
FILES = """
import random
draw = random.Random(1)
files = [" ".join(str(draw.random()) for _ in range(200)).encode() for _ in range(3)]
"""
TITLES = """
titles = [f"box {at} of {kind} oil in a tin can" for at in range(300) for kind in ("fish", "palm")]
"""
OLD = """
import numpy as np
import simdb
old_ids, old_fingerprints = ["old"], np.array([12345], np.uint64)
"""
SMALL = """
import simdb
ids = range(300)
texts = [" ".join(f"t{at}w{word}" for word in range(60)) for at in ids]
edited_texts = [f"{text} and more" for text in texts]
new_texts = texts[:3]
"""
NAMES = {
    "tables": STORED,
    "thresholds": TITLES + SMALL,
    "vectors": VECTORS,
    "images": IMAGES + FILES,
    "from-others": OLD,
}
NEEDED = {
    "images": ["PIL", "imagehash"], "thresholds": ["jinja2"], "crawls": ["fastwarc"],
}  # fmt: skip
# Spark needs Java: tests/spark runs its verbs, tests/distributed what needs none.
ELSEWHERE = {"spark"}
REFERENCE = sorted(
    path.stem
    for path in (pages.SITE / "reference").glob("*.md")
    if path.stem not in {"classes", "command-line"}
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in an empty folder, which may lie in memory without a word about it."""
    monkeypatch.setattr(advice, "VOLATILE_TYPES", set())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tutorial_runs_and_shows_what_it_prints(place):
    shutil.copy(doc_blocks.ROOT / "examples" / "make_articles.py", place)
    page = Page("tutorial.md", place)

    page.run()

    assert page.ran >= 10


def test_the_first_page_runs_and_shows_what_it_prints(place):
    subprocess.run([sys.executable, doc_blocks.ROOT / "examples" / "make_articles.py"], check=True)
    page = Page("index.md", place)

    page.run()

    assert page.ran == 3


@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs_and_shows_what_it_prints(place, name):
    for needed in NEEDED.get(name, []):
        pytest.importorskip(needed)
    JOBS[name](place)
    page = Page(f"how-to/{name}.md", place)

    page.run()

    assert page.ran


@pytest.mark.parametrize("name", NAMES)
def test_a_page_runs_with_the_names_that_its_reader_has(place, name):
    for needed in NEEDED.get(name, []):
        pytest.importorskip(needed)
    doc_preparation.thresholds(place)
    page = Page(f"how-to/{name}.md", place)

    page.run(NAMES[name])

    assert page.ran


@pytest.mark.parametrize("name", REFERENCE)
def test_the_examples_of_the_reference_run(place, name):
    page = Page(f"reference/{name}.md", place)

    page.run()

    assert page.ran


def test_every_page_of_a_job_is_run_here():
    """A new page is entered in JOBS, or in NAMES with the names that its reader has."""
    names = {Path(name).stem for name in pages.all_pages() if name.startswith("how-to/")}

    assert names == set(JOBS) | set(NAMES) | ELSEWHERE


def test_every_verb_has_a_signature_and_an_example():
    module = pages.api.reference()
    verbs = [name for name in module.public_places() if name.islower()]
    for owner in ("Database", "Snapshot", "WriteTransaction"):
        verbs += [f"{owner}.{name}" for name in pages.api.members(owner)]
    text = "".join(
        (pages.SITE / "reference" / f"{name}.md").read_text("utf-8") for name in REFERENCE
    )

    described = re.findall(r"^\{\{ verb: (\S+) \}\}\n\n```python$", text, re.MULTILINE)

    members = {name.rpartition(".")[2] for name in described}
    assert [name for name in verbs if name.rpartition(".")[2] not in members] == []


def test_a_signature_has_the_values_of_its_types():
    every = pages.all_pages()

    text = every["reference/without-a-database.md"]
    assert '    rule: "similar" | "contained" = "similar",\n' in text
    assert '    encoding: str = "utf-8",\n' in text
    assert '# MethodName: "auto" | ' in every["reference/searching.md"]
    assert not re.search(r"(?<!core\.)choices\.[A-Z]", "".join(every.values()))


def test_links_between_documents_lead_to_pages():
    every = pages.all_pages()

    assert "(../explanation/guarantees.md)" in every["how-to/backup.md"]
    assert "](../reference/command-line.md#" in every["how-to/from-others.md"]
    assert "REFERENCE.md)" not in every["reference/command-line.md"]


def test_the_page_of_the_command_line_has_every_command_with_its_options_and_notes():
    page = pages.all_pages()["reference/command-line.md"]
    sections = dict(each.split("\n", 1) for each in page.split("\n### ")[1:])

    assert sections.keys() == set(NAMES_OF_COMMANDS)
    assert "simdb dedup [OPTIONS] SOURCE..." in sections["dedup"]
    assert "| `--keep RULE` |" in sections["dedup"]
    assert "numbers in decimal and bytes in hexadecimal digits" in sections["pairs"]


def test_nothing_installs_a_package_of_this_name_from_an_index():
    """A reader installed another project: it has the name on the public index."""
    sources = (doc_blocks.ROOT / "simdb").rglob("*.py")
    every = {**pages.all_pages(), **{str(each): each.read_text("utf-8") for each in sources}}

    wrong = re.compile(r"(?<!not run `)pip install (?:-\S+ )*['\"]?simdb\b(?!-)")
    assert len(every) > 200
    assert [name for name, text in every.items() if wrong.search(text)] == []


def test_the_drawing_of_the_readme_is_up_to_date():
    drawn = pages.drawings.alone(pages.drawings.weights())

    written = pages.drawings.README_DRAWING.read_text(encoding="utf-8")
    assert drawn == written, "run python tools/site/drawings.py"


def test_every_link_of_a_page_leads_to_a_page():
    link = re.compile(r"\]\(([^):#\s]+\.md)[)#]")

    for path in pages.SITE.rglob("*.md"):
        for target in link.findall(path.read_text("utf-8")):
            assert (path.parent / target).resolve().is_file(), f"{path}: {target}"


def test_the_site_has_the_pages_that_a_person_needs():
    assert len(list(pages.SITE.rglob("*.md"))) <= 32
