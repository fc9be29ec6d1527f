"""Build a wheel with each CPython of this machine, install it elsewhere, and ask it a query.

python tools/wheels/build.py          (or `make wheels`)

A Python is found as `python3.12` on the path or below ~/.pyenv/versions.  The wheels lie in dist/.
They are of this machine; the wheels that are published come from cibuildwheel.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
PYENV = Path.home() / ".pyenv" / "versions"


def main() -> int:
    """Return 0 if every Python that was found built a wheel that answers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("versions", nargs="*", default=declared(), help="such as 3.12; usual: all")
    failed: list[str] = []
    for version in parser.parse_args().versions:
        python = found(version)
        if python is None:
            print(f"{version}: no such Python on this machine")
            continue
        started = time.monotonic()
        try:
            said = built_and_tried(version, python)
        except ChildProcessError as error:
            said = str(error)
            failed.append(version)
        print(f"{version}: {said}, {time.monotonic() - started:.0f} s", flush=True)
    return len(failed) > 0


def declared() -> list[str]:
    """Return the versions of Python that the classifiers of the project name."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def found(version: str) -> str | None:
    """Return the path of a Python of this version that runs, if there is one."""
    places = [shutil.which(f"python{version}"), *PYENV.glob(f"{version}.*/bin/python")]
    for place in filter(None, places):
        if not subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode:
            return str(place)
    return None


def built_and_tried(version: str, python: str) -> str:
    """Build the wheel, install it in a new environment, and return what it says."""
    with tempfile.TemporaryDirectory() as place:
        own = f"{place}/environment/bin/python"
        ran(place, python, "-m", "venv", "environment")
        ran(place, own, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "built", str(ROOT))
        (wheel,) = Path(place, "built").glob(f"*-cp{version.replace('.', '')}-*.whl")
        ran(place, own, "-m", "pip", "install", "--quiet", str(wheel))
        said = ran(place, own, str(ROOT / "tools" / "wheels" / "compiled.py"))
        DIST.mkdir(exist_ok=True)
        shutil.copy(wheel, DIST)
        return f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB: {said}"


def ran(place: str, *command: str) -> str:
    """Run a command in a folder and return what it prints."""
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChildProcessError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
