"""Constraints for pip: lists the oldest required versions of packages, for `make oldest`.

If the tests need a newer version than simdb itself, as of click, that one is listed.
"""

import re
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*\])?>=(?P<version>[\d.]+)")


def main() -> None:
    """Print a line for each required package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_tests = bounds(project["optional-dependencies"]["test"])
    for name, version in bounds(project["dependencies"]).items():
        print(f"{name}=={of_tests.get(name, version)}")


def bounds(requirements: list[str]) -> dict[str, str]:
    """Return the least version of each package."""
    found = (BOUND.match(each) for each in requirements)
    return {each["name"]: each["version"] for each in found if each is not None}


if __name__ == "__main__":
    main()
