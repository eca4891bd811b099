"""The store of the simulation compared with DynamoDB Local: many operations, each on both. `make bench ARGS=store`."""

import random
import time
from importlib import import_module

from infra import engines

OPERATIONS = 100_000


def print_store() -> None:
    """Print how many operations ended how; raise what differs, with the seed of the sequence in its key."""
    compared = import_module("tests.simulation.compared")  # what runs the stage needs no tests
    seed = random.randrange(10**6)  # noqa: S311  an order, not a secret
    with engines.dynamodb_local(expiring=False) as url:
        engines.select(url)
        began = time.process_time()
        counts = compared.compare(url, OPERATIONS, seed)
    took = time.process_time() - began
    print(f"\nThe simulation's store and DynamoDB Local, {counts.total():,} operations of seed {seed}, {took:.0f} s:")
    for name, count in sorted(counts.items()):
        print(f"  {name:<55}{count:>7,}")
    print("  each ended in the same way on both")
