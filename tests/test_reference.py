"""docs/REFERENCE.md is up to date with the source."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_reference_is_up_to_date():
    specification = importlib.util.spec_from_file_location(
        "reference", ROOT / "tools" / "generate" / "reference.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)

    text = module.reference()

    written = (ROOT / "docs" / "REFERENCE.md").read_text(encoding="utf-8")
    assert text == written, "run python tools/generate/reference.py"
