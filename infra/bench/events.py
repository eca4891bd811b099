"""Many events under faults, in the simulation: what is missing, invented, or newer than a look-up.

The receivers, the streams and the deaths of processes are those of `tests.simulation`.
"""

import os
from importlib import import_module

from infra.bench.table import Table

EVENTS = 100_000


def events_table(count: int = EVENTS) -> Table:
    """Return what came of so many events."""
    many_events = import_module("tests.simulation.many_events")  # what runs the stage needs no tests
    return Table("events", ("", "number"), many_events.prove(count, os.cpu_count() or 1))
