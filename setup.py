"""The build of the compiled kernel; everything else about the package is in pyproject.toml.

Each module of `simdb_ext` is one Cython file and the C files of the folder with the same name and
of the folders inside it.  The build has no machine-specific flag: per-function target attributes
compile variants for newer instruction sets, and a variant is chosen when the module is imported.
Without a compiler the build ends before anything else is done, with what to install.
"""

import os
import tempfile
from functools import partial
from glob import glob
from itertools import chain
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Lock

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

MODULES = ("arrange", "search", "sketch")
SANITIZERS = {
    "1": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}
SANITIZE = SANITIZERS.get(os.environ.get("SIMDB_DEBUG", ""), [])
DEBUG = bool(SANITIZE)
# The source that holds the operations of a module is compiled once for each instruction set; of
# those that the machine does not have, nothing is compiled (`cpu.h`).
OPERATIONS = "operations.c"
VECTORS = ("SCALAR", "NEON", "AVX2", "AVX512")
# Variants must agree to the bit, so the compiler may not fuse a multiplication and an addition.
# Without debugging symbols a wheel is a fraction of the size.
COMPILE = [*(["-O1", "-g", *SANITIZE] if DEBUG else ["-O3", "-g0"]), "-ffp-contract=off"]

extensions = [
    Extension(
        f"simdb_ext._{name}",
        [f"simdb_ext/_{name}.pyx", *sorted(glob(f"simdb_ext/{name}/**/*.c", recursive=True))],
        include_dirs=["simdb_ext", f"simdb_ext/{name}"],
        depends=[
            *glob("simdb_ext/*.[ph]*"),
            *glob(f"simdb_ext/{name}/**/*.h", recursive=True),
        ],
        extra_compile_args=COMPILE,
        extra_link_args=SANITIZE,
    )
    for name in MODULES
]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": False,
    "embedsignature": True,
    # No module has state that threads share without a lock.
    "freethreading_compatible": True,
}


class BuildKernel(build_ext):
    """Check the compiler, then translate and compile the modules, on all cores."""

    translating = Lock()  # Cython has state that threads share
    compilers = ThreadPool(os.cpu_count())  # threads that wait for processes of the compiler

    def finalize_options(self):
        """Build all modules at once, unless the command line says otherwise."""
        super().finalize_options()
        self.parallel = self.parallel or len(MODULES)

    def build_extensions(self):
        """Check the compiler before anything else."""
        self.check_compiler()
        self.compiler.compile = partial(self.compile_each, self.compiler.compile)
        super().build_extensions()

    def build_extension(self, extension):
        """Translate a module to C, and compile it."""
        with self.translating:
            [translated] = cythonize([extension], compiler_directives=DIRECTIVES)
        extension.sources = translated.sources
        super().build_extension(extension)

    def compile_each(self, compile_all, sources, **settings):
        """Compile each source by itself, for each instruction set; return the object files."""
        tasks = [
            (source, settings | variant)
            for source in sources
            for variant in (variants(**settings) if Path(source).name == OPERATIONS else [{}])
        ]
        objects = self.compilers.starmap(lambda each, used: compile_all([each], **used), tasks, 1)
        return [*chain(*objects)]

    def check_compiler(self):
        """Compile a file that includes Python's header; end the build if that fails."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text("#include <Python.h>\n", encoding="ascii")
            try:
                self.compiler.compile([str(source)], output_dir=folder)
            except CompileError as error:
                raise SystemExit(
                    f"simdb needs a C compiler and the headers of Python, and cannot compile here"
                    f" ({error}): install them (Debian: apt-get install gcc python3-dev; Fedora:"
                    " dnf install gcc python3-devel; Alpine: apk add gcc musl-dev python3-dev;"
                    " macOS: xcode-select --install)"
                ) from None


def variants(output_dir, macros, **_settings):
    """Return what differs between the instruction sets: a macro, and where the object lies."""
    return [
        {"output_dir": f"{output_dir}/{name}", "macros": [*macros, ("VECTORS", f"VECTORS_{name}")]}
        for name in VECTORS
    ]


setup(ext_modules=extensions, cmdclass={"build_ext": BuildKernel})
