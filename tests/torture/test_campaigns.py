"""Every campaign of tools/torture is started by `make campaigns`, and a failure is told."""

import subprocess
import sys
from pathlib import Path

import pytest
from torture_tool import FOLDER

from campaigns import FORMS

ROOT = Path(__file__).parents[2]


def run(*arguments, **settings):
    """Run campaigns in a process of their own; return it when it has ended."""
    command = [sys.executable, FOLDER / "campaigns.py", *arguments]
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, **settings
    )


def test_every_campaign_has_a_short_form_that_ci_runs_and_a_test():
    programs = {
        path.name
        for path in FOLDER.glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    tests = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    untested = [name for name in programs if name not in tests and f"from {name[:-3]}" not in tests]

    assert programs - {"campaigns.py"} == {form.split()[0] for form in FORMS}
    assert untested == []
    assert 'campaigns SECONDS="$CAMPAIGN_SECONDS"' in (ROOT / ".ci" / "run").read_text()
    assert "tools/torture/campaigns.py --seconds $(SECONDS)" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_the_same_seed_runs_the_same_campaigns():
    first, again = (run("--seconds", 0, "--tools", "texts.py", "--seed", 3) for _ in range(2))

    [told, told_again] = (ended.stdout.split(": ")[0] for ended in (first, again))

    assert told == told_again
    assert "--seed 3\ntexts.py --seed " in told
