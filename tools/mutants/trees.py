"""Trees: copies a checkout, and applies one mutant at a time to it.

A mutant of C is compiled alone: the objects of the C files that include the mutated file, without
optimisation that takes long, and the module of them.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import contextmanager, nullcontext
from pathlib import Path

from drawing import mutated

KEPT_OUT = shutil.ignore_patterns(".git", "build", ".venv", ".hypothesis", ".*_cache", "*.egg-info")
TRANSLATE = [
    sys.executable, "-m", "cython", "-3", "-X", "boundscheck=False", "-X", "wraparound=False",
    "-X", "initializedcheck=False", "-X", "embedsignature=True",
]  # fmt: skip
COMPILE = ["gcc", "-O1", "-g0", "-w", "-fPIC", "-fwrapv", "-ffp-contract=off", "-DNDEBUG"]
# The instruction sets for which `operations.c` is compiled, as in `setup.py`.
VECTORS = ("SCALAR", "NEON", "AVX2", "AVX512")


class Tree:
    """A copy of a checkout with compiled kernels, to which mutants are applied in turn."""

    def __init__(self, checkout, place):
        shutil.copytree(checkout, place, ignore=KEPT_OUT, dirs_exist_ok=True)
        self.root = Path(place)
        self.objects = self.root / "build" / "mutants"

    @contextmanager
    def changed(self, mutant):
        """Apply a mutant; yield whether it could be built.  Afterwards the tree is as before."""
        path = self.root / mutant["path"]
        text = mutated(path.read_text(encoding="utf-8"), mutant)
        with nullcontext() if path.suffix == ".py" else self.kept(path), self.text(path, text):
            yield is_python(path) if path.suffix == ".py" else self.build(path)

    @contextmanager
    def text(self, path, text):
        """Give a file another text for a while; afterwards its compiled form fits again."""
        path = self.root / path
        before, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    @contextmanager
    def kept(self, changed):
        """Put the module of a C file and its objects back afterwards, without compiling again."""
        units, library = self.module_of(changed)
        built = [*map(self.object_of, units), library]
        if not all(each.exists() for each in built[:-1]):
            assert self.build(changed)
        before = {each: each.read_bytes() for each in built}
        try:
            yield
        finally:
            for each, content in before.items():
                # A new file: a process may still have the old one mapped.
                each.unlink(missing_ok=True)
                each.write_bytes(content)

    def module_of(self, changed):
        """Return the C files of the module that a file belongs to, each with what it is compiled
        for, and its library."""
        folder = self.root / "simdb_ext"
        name = changed.relative_to(folder).parts[0]
        translated = folder / f"_{name}.c"
        if not translated.exists():
            command = [*TRANSLATE, str(translated.with_suffix(".pyx"))]
            subprocess.run(command, cwd=self.root, check=True)
        library = folder / f"_{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        units = [
            (source, vectors)
            for source in [*sorted((folder / name).rglob("*.c")), translated]
            for vectors in (VECTORS if source.name == "operations.c" else [""])
        ]
        return units, library

    def build(self, changed):
        """Compile what includes a changed file and link the module; return whether that worked."""
        units, library = self.module_of(changed)
        stale = [each for each in units if self.is_stale(each, changed)]
        name = changed.relative_to(self.root / "simdb_ext").parts[0]
        if any(self.compile(name, unit).returncode for unit in stale):
            return False
        library.unlink(missing_ok=True)
        objects = [str(self.object_of(each)) for each in units]
        command = ["gcc", "-shared", *objects, "-lm", "-o", str(library)]
        return subprocess.run(command, check=False).returncode == 0

    def object_of(self, unit):
        source, vectors = unit
        name = str(source.relative_to(self.root)).replace("/", "-")
        return (self.objects / f"{vectors}{name}").with_suffix(".o")

    def is_stale(self, unit, changed):
        """Return whether a C file has no object, or includes the changed file."""
        needs = self.object_of(unit).with_suffix(".d")
        return not needs.exists() or str(changed) in needs.read_text().replace("\\\n", " ").split()

    def compile(self, module, unit):
        """Compile one C file of a module, and note which files it includes."""
        self.objects.mkdir(parents=True, exist_ok=True)
        folders = [self.root / "simdb_ext", self.root / "simdb_ext" / module]
        python = sysconfig.get_path("include")
        source, vectors = unit
        out = self.object_of(unit)
        command = [
            *COMPILE, *(f"-I{each}" for each in [*folders, python]), "-MMD",
            *([f"-DVECTORS=VECTORS_{vectors}"] if vectors else []),
            "-c", str(source), "-o", str(out),
        ]  # fmt: skip
        return subprocess.run(command, cwd=self.root, capture_output=True, check=False)


def is_python(path):
    """Return whether a file can be compiled as Python."""
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except SyntaxError:
        return False
    return True
