"""The build of the compiled kernel; everything else about the package is in pyproject.toml.

Each module of `simdb_ext` is one Cython file and the C files of the folder with the same name and
of the folders inside it.  The build has no machine-specific flag: per-function target attributes
compile variants for newer instruction sets, and a variant is chosen when the module is imported.
Without a compiler the package is installed all the same; it then runs on numpy, slowly, and warns.
"""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = ("arrange", "search", "sketch")
SANITIZERS = {
    "1": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}
SANITIZE = SANITIZERS.get(os.environ.get("SIMDB_DEBUG", ""), [])
DEBUG = bool(SANITIZE)
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
compiled = cythonize(
    extensions,
    compiler_directives={
        "language_level": 3,
        "boundscheck": DEBUG,
        "wraparound": False,
        "initializedcheck": False,
        "embedsignature": True,
        # No module has state that threads share without a lock.
        "freethreading_compatible": True,
    },
)
for extension in compiled:  # cythonize makes new extensions, which forget this attribute
    extension.optional = True

setup(ext_modules=compiled)
