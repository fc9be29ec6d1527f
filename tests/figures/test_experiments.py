"""Every experiment runs at tiny sizes, and says for each claim what it found."""

import importlib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2] / "tools" / "figures" / "experiments"
NAMES = sorted(path.stem for path in ROOT.glob("*.py") if path.stem != "__init__")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_judges_each_of_its_claims_once_and_draws(world: Any, name: str) -> None:
    claim = importlib.import_module("claim")
    module = importlib.import_module(f"experiments.{name}")

    section = world.section(name)

    claims = [value for value in vars(module).values() if isinstance(value, claim.Claim)]
    assert sorted(each.claim.says for each in section.verdicts) == sorted(c.says for c in claims)
    for verdict in section.verdicts:
        assert verdict.verdict in (claim.AGREES, claim.DIFFERS, claim.PARTLY)
        assert verdict.ours
        assert verdict.why
        assert verdict.claim.agrees
        assert "nan" not in verdict.ours
    for file, description in section.pictures:
        root = ET.fromstring((world.folder / file).read_text())
        assert root.tag.endswith("svg")
        assert description
    for head, rows in section.tables + section.details:
        assert all(len(row) == len(head) for row in rows)
    assert section.pictures or section.tables or section.details


def test_all_experiments_are_run() -> None:
    evaluation = importlib.import_module("evaluation")

    assert sorted(evaluation.EXPERIMENTS) == NAMES
