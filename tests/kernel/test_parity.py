"""Every variant of the C functions agrees with the scalar one, on this processor and on 64-bit ARM.

The second needs a cross compiler and an emulator: on Debian, gcc-aarch64-linux-gnu and qemu-user or
qemu-user-static.
"""

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[2] / "simdb_ext"
SOURCES = (
    Path(__file__).with_name("parity.c"),
    KERNEL / "search" / "polytope.c",
    KERNEL / "sketch" / "text" / "clean.c",
    KERNEL / "sketch" / "text" / "unicode.c",
)
FLAGS = ("-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
FOLDERS = tuple(f"-I{folder}" for folder in (KERNEL, KERNEL / "search", KERNEL / "sketch"))


def answered(compiler: str, run: tuple[str, ...], folder: Path) -> str:
    """Return what the program prints; skip the test without a program that it needs."""
    for program in (compiler, *run[:1]):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    target = str(folder / "parity")
    objects = []
    for module, variant in product(("search", "sketch"), ("SCALAR", "NEON", "AVX2", "AVX512")):
        objects.append(str(folder / f"{module}_{variant}.o"))
        source = KERNEL / module / "operations.c"
        flags = (*FLAGS, *FOLDERS, f"-DVECTORS=VECTORS_{variant}")
        subprocess.run([compiler, *flags, "-c", source, "-o", objects[-1]], check=True)
    command = [compiler, *FLAGS, *FOLDERS, *SOURCES, *objects, "-o", target, "-lm"]
    subprocess.run(command, check=True)
    found = subprocess.run([*run, target, "1"], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.slow
def test_all_variants_of_this_processor_agree(tmp_path):
    found = answered("cc", (), tmp_path)

    assert found.startswith("search: scalar")


@pytest.mark.slow
def test_neon_agrees_under_an_emulator(tmp_path):
    emulator = "qemu-aarch64" if shutil.which("qemu-aarch64") else "qemu-aarch64-static"
    run = (emulator, "-L", "/usr/aarch64-linux-gnu")

    found = answered("aarch64-linux-gnu-gcc", run, tmp_path)

    assert found == "search: scalar neon\nsketch: scalar neon\n"
