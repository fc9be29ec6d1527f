"""Fuzz one harness, or all, with atheris (`pip install atheris`).

    python tools/fuzz/decoders/run.py --seconds 60 manifest page

Inputs that reached new code are kept in build/fuzz, and inputs that crashed a harness in its folder
`crashes`.  With `--input FILE`, a harness runs once, on that input.  libFuzzer runs every harness
in its own process, with limits on its memory and on the time for one input.
"""

import argparse
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "build" / "fuzz"
MEMORY_MIB = 3000
INPUT_SECONDS = 10
LONGEST = {"page": 1 << 16, "parquet": 1 << 14, "calibration": 1 << 16}
LONGEST_ELSE = 1 << 13
EXECUTIONS = re.compile(r"stat::number_of_executed_units: +(\d+)")


def main():
    sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="harnesses to run; default: all"
    )
    parser.add_argument("--seconds", type=int, default=30, help="seconds for each harness")
    parser.add_argument("--input", type=Path, help="run TARGET on this file once")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given, rest = parser.parse_known_args()
    if given.inside:
        return fuzz_here(given.targets[0], rest)
    known = import_module("targets").TARGETS
    if given.input:
        return known[given.targets[0]].run(given.input.read_bytes())
    return max(fuzz(known[name], given) for name in given.targets or known)


def fuzz(target, given):
    """Run one harness in its own process; return 1 if it found a bug, else 0."""
    corpus, crashes = CORPUS / target.name, CORPUS / "crashes"
    for folder in (corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    command = [
        sys.executable, __file__, "--inside", target.name, str(corpus),
        f"-max_total_time={given.seconds}", f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={crashes}/{target.name}-",
        f"-max_len={LONGEST.get(target.name, LONGEST_ELSE)}", "-print_final_stats=1",
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    done = EXECUTIONS.search(ended.stderr)
    outcome = "nothing found" if ended.returncode == 0 else "FOUND SOMETHING"
    print(f"{target.name}: {done[1] if done else '?'} executions, {outcome}", flush=True)
    if ended.returncode:
        print("\n".join((ended.stdout + ended.stderr).splitlines()[-40:]), flush=True)
    return int(ended.returncode != 0)


def fuzz_here(name, arguments):
    """Run libFuzzer in this process; it does not return."""
    atheris = import_module("atheris")
    # In modules imported here, libFuzzer sees which lines an input reaches.
    with atheris.instrument_imports(include=["simdb"]):
        target = import_module("targets").TARGETS[name]
    target.seeds()  # fill caches before the clock starts
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
