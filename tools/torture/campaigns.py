"""Run the short forms of all campaigns in turn, with drawn seeds, until the time is over.

    python tools/torture/campaigns.py --seconds 300
    python tools/torture/campaigns.py --seconds 60 --tools kills.py texts.py --seed 7

Every campaign runs at least once.  The next one is always the one that has had the least time.  A
line for each run tells its seed, so that the run can be repeated.
"""

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# A tool or a form of it, and arguments for a run of some seconds; a tool that is not listed fails a
# test.
FORMS = {
    "damage.py": "--trials 60",
    "differential.py": "--seeds 8 --steps 80",
    "differential.py --documents": "1000 20000",
    "inputs.py": "--trials 60",
    "interrupts.py": "--points 3",
    "kills.py": "--kills 30",
    "races.py": "--seconds 2",
    "repeats.py": "--worlds 20",
    "rescues.py": "--trials 40",
    "texts.py": "--seeds 10",
    "threads.py": "--trials 3",
}
HANGS_SECONDS = 600
SEEDS = 10**6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300, help="start no run after these")
    parser.add_argument("--tools", nargs="+", choices=FORMS, default=list(FORMS), metavar="TOOL")
    parser.add_argument("--seed", type=int, help="draws the seeds of the runs; default: at random")
    given = parser.parse_args()
    seed = random.randrange(SEEDS) if given.seed is None else given.seed
    print(f"campaigns for {given.seconds:.0f} seconds with --seed {seed}", flush=True)
    chance, until = random.Random(seed), time.monotonic() + given.seconds
    spent, failed = dict.fromkeys(given.tools, 0.0), Counter()
    while time.monotonic() < until or not all(spent.values()):
        tool = min(spent, key=spent.get)
        begun = time.monotonic()
        failed[tool] += not passes(tool, chance.randrange(SEEDS))
        spent[tool] += time.monotonic() - begun
    for tool, seconds in spent.items():
        print(f"{tool}: {seconds:.0f} seconds, {failed[tool]} runs failed")
    return int(failed.total() > 0)


def passes(tool, seed):
    """Run a campaign once; print how it ended, and what it said if it failed."""
    name, *given = [*tool.split(), *FORMS[tool].split()]
    command = [sys.executable, "-W", "ignore", FOLDER / name, "--seed", seed, *given]
    begun = time.monotonic()
    try:
        ended = subprocess.run(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANGS_SECONDS,
            text=True,
            errors="replace",
            check=False,
        )
        code, said = ended.returncode, ended.stdout
    except subprocess.TimeoutExpired as late:
        code, said = f"nothing after {HANGS_SECONDS} seconds", str(late.stdout)
    seconds = time.monotonic() - begun
    print(
        f"{tool} --seed {seed} {FORMS[tool]}: {seconds:.1f} seconds, ended with {code}", flush=True
    )
    if code != 0:
        print(said, flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
