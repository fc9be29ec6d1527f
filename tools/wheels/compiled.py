"""Check the installed package: its compiled kernel is loaded, and a query is answered.

python tools/wheels/compiled.py          (in another folder than the checkout)
"""

import sys
import tempfile
from pathlib import Path

import simdb
from simdb.core import kernel

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Return 0 if the installed simdb answers."""
    place = Path(simdb.__file__).resolve()
    if CHECKOUT in place.parents and "site-packages" not in place.parts:
        print(f"this is the checkout, not the installed package: {place}", file=sys.stderr)
        return 1
    text = "the quick brown fox jumps over the lazy dog near the river bank"
    with tempfile.TemporaryDirectory() as folder, simdb.open(Path(folder) / "db") as database:
        database.insert("a", text)
        assert [match.id for match in database.query(text)] == ["a"]
    print(simdb.__version__, sys.version.split()[0], *kernel.variants())
    return 0


if __name__ == "__main__":
    sys.exit(main())
