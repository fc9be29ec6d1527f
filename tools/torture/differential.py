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
import math
import multiprocessing
import sys
import time
import traceback
from functools import partial
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[2] / "tests" / "support"))

from model import Tally  # noqa: E402
from session import Session  # noqa: E402
from simdb.core import kernel  # noqa: E402
from trials import outcome_of  # noqa: E402

# The check of probabilistic answers fails by chance in less than one of a million runs.
DEVIATIONS = 5.0
LARGE = 20_000  # documents above which only the fastest variant of the kernel runs
HANGS_SECONDS = 1e6  # of one seed: millions of documents take hours


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--seed", type=int, default=0, help="first seed")
    add("--seeds", type=int, default=1, help="number of seeds")
    add("--steps", type=int, help="steps for each seed; default: 200, or each verb")
    add("--documents", type=int, nargs="+", default=[0], help="to begin with")
    add("--seconds", type=float, default=math.inf, help="start no seed after this many seconds")
    add("--kernel", help="a variant of the kernel; default: seeds take turns")
    add("--jobs", type=int, default=1, help="processes at a time")
    add("--callbacks", action=argparse.BooleanOptionalAction, default=True,
        help="also use a transaction inside the iterators that it reads")  # fmt: skip
    add(
        "--tiny",
        type=float,
        help="share of the constants of sizes.py that are tiny; default: drawn",
    )
    given = parser.parse_args()
    kernels = kernel.variants()[-1:] if max(given.documents) > LARGE else kernel.variants()
    kernels = [given.kernel] if given.kernel else kernels
    seeds = range(given.seed, given.seed + given.seeds)
    run = partial(run_apart, given, kernels, time.monotonic() + given.seconds)
    total, count, steps, failures = Tally(), 0, 0, 0
    with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
        for told, more, tally in pool.imap_unordered(run, product(given.documents, seeds)):
            count, steps, failures = (
                count + (more >= 0),
                steps + max(more, 0),
                failures + bool(told),
            )
            print(told, end="", flush=True)
            total.join(tally)
    margin = DEVIATIONS * math.sqrt(total.variance)
    print(
        f"{count} seeds, {steps} steps, kernels {', '.join(kernels)}:"
        f" {failures} failed; probabilistic answers found {total.found:.0f} matches, where"
        f" {total.promised:.0f} were promised, or {margin:.0f} fewer by chance",
        flush=True,
    )
    return int(failures > 0 or total.found < total.promised - margin)


def run_apart(given, kernels, until, what):
    """Run one seed in a process of its own.

    Return what is to be told of a failure, the steps, -1 if there was no time, and a tally.
    """
    count, seed = what
    if time.monotonic() > until:
        return "", -1, Tally()
    chosen = kernels[seed % len(kernels)]
    ended = outcome_of(partial(run_here, given, count, seed, chosen, until), HANGS_SECONDS)
    again = " ".join(command_of(seed, count, given))
    if ended.error:
        told = f"{ended.error}\nrun just that by\n  {again} --kernel {chosen}\n"
        return told, 0, Tally()
    told, steps, tally = ended.value
    return told and f"{told}run just that by\n  {again}\nwith --kernel {chosen}\n", steps, tally


def run_here(given, count, seed, chosen, until):
    """Run one seed in this process; return what failed after which steps, and what was counted."""
    kernel.select(chosen)
    tally = Tally()
    session = Session(seed, count, tally, callbacks=given.callbacks, tiny=given.tiny)
    try:
        session.run(given.steps or (0 if count else 200), until if count else math.inf)
    except Exception:
        lines = [
            f"FAILED in step {session.steps} of seed {seed}, in {session.directory}",
            f"options: {session.options}", f"tiny constants: {' '.join(session.shrunk)}",
            "last steps:", *(f"  {each}" for each in (*session.last, session.doing)),
            traceback.format_exc(),
        ]  # fmt: skip
        return "\n".join(lines), session.steps, tally
    if count:
        spent = ", ".join(f"{name} {each:.1f}" for name, each in session.seconds.most_common(4))
        print(f"seed {seed}, {count} documents, seconds: {spent}", flush=True)
    return "", session.steps, tally


def command_of(seed, count, given):
    """Return the command that runs one seed again, without its --kernel."""
    command = [sys.executable, str(HERE), *(["--documents", str(count)] if count else [])]
    command += ["--seed", str(seed)]
    for name in ("steps", "tiny"):
        if getattr(given, name) is not None:
            command += [f"--{name}", str(getattr(given, name))]
    return command if given.callbacks else [*command, "--no-callbacks"]


if __name__ == "__main__":
    sys.exit(main())
