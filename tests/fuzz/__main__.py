"""Runs cases in processes, and counts how they ended."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np
from threadpoolctl import threadpool_limits

KINDS = ("fits", "streams", "files", "tables", "bayes", "adaptive", "filters")

#: Seconds after which a case has no end.
LONGEST = 60.0

#: Cases that a process takes at once.
BATCH = 50


def play_batch(kind: str, seeds: list[int], answers, current, longest: float) -> None:
    """Play cases, and put what came of them into the queue; `current` says which is under way."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    module = importlib.import_module(f"tests.fuzz.{kind}")
    outcomes: Counter[str] = Counter()
    broken = []
    slowest = (0.0, -1)
    with threadpool_limits(1):
        for seed in seeds:
            current.value = seed
            faulthandler.dump_traceback_later(longest, exit=True)
            begun = time.process_time()
            try:
                outcomes[module.play(seed)] += 1
            except BaseException as error:
                outcomes["BROKEN"] += 1
                broken.append((seed, f"{type(error).__name__}: {error}"[:500]))
            slowest = max(slowest, (time.process_time() - begun, seed))
    faulthandler.cancel_dump_traceback_later()
    answers.put((outcomes, broken, slowest))


def run(
    kind: str, first: int, count: int, n_processes: int, until: float, longest: float = LONGEST
) -> dict:
    """Play `count` cases of a kind, or those that there is time for."""
    context = multiprocessing.get_context("spawn" if sys.platform != "linux" else "fork")
    importlib.import_module(f"tests.fuzz.{kind}").play(first)  # compiled once, for all processes
    fresh = (
        list(range(start, min(start + BATCH, first + count)))
        for start in range(first, first + count, BATCH)
    )
    again: list[list[int]] = []
    outcomes: Counter[str] = Counter()
    broken: list[tuple[int, str]] = []
    slowest = (0.0, -1)
    running: list[tuple] = []
    while True:
        while len(running) < n_processes:
            more = fresh if time.time() < until else iter(())
            seeds = again.pop() if again else next(more, None)
            if seeds is None:
                break
            answers, current = context.Queue(), context.Value("q", -1)
            process = context.Process(
                target=play_batch, args=(kind, seeds, answers, current, longest)
            )
            process.start()
            running.append((process, answers, current, seeds))
        if not running:
            break
        for entry in list(running):
            process, answers, current, seeds = entry
            if not answers.empty() or not process.is_alive():
                running.remove(entry)
                if answers.empty():
                    time.sleep(0.2)
                if answers.empty():
                    seed = current.value
                    how = "no end" if process.exitcode == 1 else f"exit code {process.exitcode}"
                    broken.append((seed, f"the process ended: {how}"))
                    outcomes["CRASH OR HANG"] += 1
                    # What came before was not counted: played again, with the rest.
                    rest = [other for other in seeds if other != seed]
                    if rest:
                        again.append(rest)
                    continue
                counted, failed, slow = answers.get()
                process.join()
                outcomes += counted
                broken += failed
                slowest = max(slowest, slow)
        time.sleep(0.005)
    return {
        "kind": kind,
        "cases": sum(outcomes.values()),
        "broken": sorted(broken)[:50],
        "slowest": {"seconds": round(slowest[0], 2), "seed": slowest[1]},
        "outcomes": dict(sorted(outcomes.items())),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10**12, help="of each kind")
    parser.add_argument("--minutes", type=float, default=1e6, help="for all kinds together")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds of a case")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "SEED"))
    options = parser.parse_args()
    if options.replay:
        kind, seed = options.replay
        try:
            print(importlib.import_module(f"tests.fuzz.{kind}").play(int(seed)))
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    begun, n_broken = time.time(), 0
    for number, kind in enumerate(options.kinds, start=1):
        until = begun + 60 * options.minutes * number / len(options.kinds)
        found = run(kind, options.seed, options.cases, options.processes, until, options.longest)
        n_broken += len(found["broken"])
        print(json.dumps(found, indent=1, ensure_ascii=False), flush=True)
    print(f"{n_broken} broken, {time.time() - begun:.0f} s")
    return int(n_broken > 0)


if __name__ == "__main__":
    sys.exit(main())
