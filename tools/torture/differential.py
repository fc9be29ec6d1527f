"""Call all verbs of a database at random and compare the answers with brute force.

    python tools/torture/differential.py --seeds 200 --steps 250
    python tools/torture/differential.py --seed 17 --steps 250 --kernel scalar
    python tools/torture/differential.py --documents 1000 20000 2000000

Each seed makes a database with options of its own, in a process with one variant of the kernel.
Sizes decide which code runs, so with --documents databases begin with so many: each verb is then
called once, unless --steps says how often, and a sample of every answer is compared.
A failure is printed with its seed, step, options and last steps, and the command that runs only it.
"""

import argparse
import faulthandler
import math
import os
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
GROUP_SEEDS = 10
# The check of probabilistic answers fails by chance in less than one of a million runs.
DEVIATIONS = 5.0
LARGE = 20_000  # documents above which only the fastest variant of the kernel runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--steps", type=int, help="steps for each seed; default: 200, or each verb")
    parser.add_argument("--documents", type=int, nargs="+", default=[0], help="to begin with")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="start no seed after this many seconds"
    )
    parser.add_argument("--kernel", help="a variant of the kernel; default: seeds take turns")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument(
        "--callbacks",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also use a transaction inside the iterators that it reads",
    )
    parser.add_argument(
        "--tiny",
        type=float,
        help="share of the constants of sizes.py that are tiny; default: drawn",
    )
    parser.add_argument("--inside", type=int, nargs="+", help=argparse.SUPPRESS)  # seeds
    given = parser.parse_args()
    sys.path[:0] = [str(HERE.parent), str(ROOT / "tests" / "support"), str(ROOT)]
    if given.inside:
        return run_here(given)
    return run_all(given)


def run_all(given):
    """Run all seeds, in groups, each group in a process of its own; return 1 if a seed failed."""
    kernels = known_kernels()[-1:] if max(given.documents) > LARGE else known_kernels()
    kernels = [given.kernel] if given.kernel else kernels
    seeds = range(given.seed, given.seed + given.seeds)
    until = time.monotonic() + given.seconds
    groups = [
        (kernel, count, [seed for seed in seeds[start : start + size] if seed % len(kernels) == at])
        for count in given.documents
        for size in [GROUP_SEEDS * len(kernels)]
        for start in range(0, len(seeds), size)
        for at, kernel in enumerate(kernels)
    ]
    with ThreadPoolExecutor(given.jobs) as pool:
        done = list(pool.map(lambda group: run_group(*group, given, until), groups))
    totals = [sum(each[at] for each in done) for at in range(6)]
    failures, seed_count, steps, promised, found, variance = totals
    margin = DEVIATIONS * math.sqrt(variance)
    is_low = found < promised - margin
    print(
        f"{seed_count:.0f} seeds, {steps:.0f} steps, kernels {', '.join(kernels)}:"
        f" {failures:.0f} failed; probabilistic answers found {found:.0f} matches, where"
        f" {promised:.0f} were promised, or {margin:.0f} fewer by chance",
        flush=True,
    )
    return int(failures > 0 or is_low)


def known_kernels():
    from simdb.running import kernel  # noqa: PLC0415

    return kernel.variants()


def run_group(kernel, count, seeds, given, until):
    """Run some seeds in one process.

    Return failures, seeds, steps, and the number of matches promised and found, and its variance.
    """
    total = (0,) * 6
    while seeds and time.monotonic() < until:
        ended = subprocess.run(
            [*command_of(seeds[0], count, given), "--seconds", str(until - time.monotonic()),
             "--inside", *map(str, seeds)],
            env={**os.environ, "SIMDB_KERNEL": kernel}, capture_output=True, text=True,
            errors="replace", check=False,
        )  # fmt: skip
        lines = ended.stdout.splitlines()
        sums = [line.split()[1:] for line in lines if line.startswith("total ")]
        if sums:
            report = "\n".join(line for line in lines if not line.startswith(("begin ", "total ")))
            if report:
                print(f"{report}\nwith --kernel {kernel}", flush=True)
            return tuple(map(sum, zip(total, map(float, sums[-1]), strict=True)))
        begun = [int(line.split()[1]) for line in lines if line.startswith("begin ")]
        seed = begun[-1] if begun else seeds[0]
        print(
            f"{ended.stdout}{ended.stderr}\nthe process ended with {ended.returncode}: seed {seed}"
        )
        print(
            f"run just that by\n  {' '.join(command_of(seed, count, given))} --kernel {kernel}",
            flush=True,
        )
        total = (total[0] + 1, total[1] + len(begun), *total[2:])
        seeds = [each for each in seeds if each > seed]
    return total


def command_of(seed, count, given):
    """Return the command that runs one seed again, without its --kernel."""
    command = [sys.executable, str(HERE), *(["--documents", str(count)] if count else [])]
    command += ["--seed", str(seed)]
    for name in ("steps", "tiny"):
        if getattr(given, name) is not None:
            command += [f"--{name}", str(getattr(given, name))]
    return command if given.callbacks else [*command, "--no-callbacks"]


def run_here(given):
    """Run the seeds of one group, in this process."""
    from model import Tally  # noqa: PLC0415
    from session import Session  # noqa: PLC0415

    faulthandler.enable()
    [count], tally, steps, seeds, failures = given.documents, Tally(), 0, 0, 0
    until = time.monotonic() + given.seconds
    for seed in given.inside:
        if time.monotonic() > until:
            break
        print(f"begin {seed}", flush=True)
        session = Session(seed, count, tally, callbacks=given.callbacks, tiny=given.tiny)
        try:
            session.run(given.steps or (0 if count else 200), until if count else math.inf)
        except Exception:
            failures += 1
            report(session, given)
        else:
            told = ", ".join(
                f"{name} {spent:.1f}" for name, spent in session.seconds.most_common(4)
            )
            print(f"seed {seed}, {count} documents, seconds: {told}\n" * bool(count), end="")
        steps, seeds = steps + session.steps, seeds + 1
    print("total", failures, seeds, steps, tally.promised, tally.found, tally.variance, flush=True)
    return 0


def report(session, given):
    """Print what failed, after which steps, and the command that runs only it."""
    print(f"FAILED in step {session.steps} of seed {session.seed}, in {session.directory}")
    print(f"options: {session.options}")
    print("tiny constants:", *session.shrunk)
    print("last steps:", *session.last, session.doing, sep="\n  ")
    again = command_of(session.seed, session.draw.count, given)
    print(traceback.format_exc(), "run just that by\n ", *again)


if __name__ == "__main__":
    sys.exit(main())
