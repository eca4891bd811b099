"""Many scenarios of the service, by seed: `make simulate SEEDS=1000 SEED=1 MINUTES=10`.

SEED is the first seed, by default one from the date; SEEDS how many run, MINUTES for how long. A failing scenario is
made short, printed as a timeline, and ends the run; the same SEED with SEEDS=1 runs it again exactly.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from itertools import count, islice

from tests.simulation import environment
from tests.simulation.runner import Failure, shrunk, simulate_some, told
from tests.simulation.scenario import TOWN

TURNS = 3_000_000  # of the loop that a scenario is compared with
AT_ONCE = 20  # seeds that a process runs before it reports


def main() -> int:
    """Live what is wanted; return the status of the process."""
    wanted = os.environ.get("SEEDS")
    minutes = float(os.environ.get("MINUTES") or 0)
    first = int(os.environ.get("SEED") or f"{datetime.now(UTC):%Y%m%d%H%M}")
    most = int(wanted) if wanted else None if minutes else 200
    processes = int(os.environ.get("PROCESSES") or os.cpu_count() or 1)
    print(f"seeds from {first}", flush=True)
    began, until = time.monotonic(), time.monotonic() + minutes * 60 if minutes else float("inf")
    done, failure = _live_all(first, most, until, processes)
    seconds = time.monotonic() - began
    if failure is None:
        print(f"{done:,} scenarios in {seconds:.0f} s ({done / seconds:.1f} a second): every invariant held")
        print(f"A scenario takes {_milliseconds(done)}.")
        return 0
    with environment.simulated():
        TOWN.found()
        text = told(shrunk(failure))
    print(f"{text}\n\nAgain: make simulate SEED={failure.seed} SEEDS=1", flush=True)
    return 1


def _milliseconds(scenarios: int) -> str:
    """Return the processor time of a scenario, also as turns of a loop, which compares machines."""
    times = os.times()
    each = 1000 * (times.user + times.system + times.children_user + times.children_system) / scenarios
    begun, total = time.process_time(), 0
    for number in range(TURNS):
        total += number * number % 7
    turns = TURNS / (1000 * (time.process_time() - begun))
    return f"{each:.0f} ms of processor time, as {each * turns / 1000:,.0f} thousand turns of a plain loop"


def _live_all(first: int, most: int | None, until: float, processes: int) -> tuple[int, Failure | None]:
    """Return how many ran, and the first failure."""
    seeds = iter(range(first, first + most)) if most is not None else count(first)
    pieces: Iterator[list[int]] = iter(lambda: list(islice(seeds, AT_ONCE)), [])
    if processes == 1 or (most is not None and most <= AT_ONCE):
        return _alone(pieces, until)
    done, running = 0, set[Future[tuple[int, Failure | None]]]()
    with ProcessPoolExecutor(processes) as pool:
        while True:
            while len(running) < processes * 2 and time.monotonic() < until and (piece := next(pieces, None)):
                running.add(pool.submit(simulate_some, piece))
            if not running:
                return done, None
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                running.discard(future)
                number, failure = future.result()
                done += number
                if failure is not None:
                    pool.shutdown(cancel_futures=True)
                    return done, failure


def _alone(pieces: Iterator[list[int]], until: float) -> tuple[int, Failure | None]:
    done = 0
    for piece in pieces:
        number, failure = simulate_some(piece)
        done += number
        if failure is not None or time.monotonic() >= until:
            return done, failure
    return done, None


if __name__ == "__main__":
    sys.exit(main())
