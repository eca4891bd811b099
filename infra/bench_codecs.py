"""Random messages through three codecs of ISO 8583: whole ones and damaged ones, and how often the codecs differ."""

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random

from infra import codecs

MESSAGES = 100_000
BATCH = 2_000


def print_codecs() -> None:
    """Print the messages of each kind and the differences: minutes, on every processor there is."""
    started = time.monotonic()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = sum(pool.map(_compare, range(MESSAGES // BATCH)), Counter[str]())
    print(f"\n{'ISO 8583, three codecs':26}{'messages':>10}{'differences':>13}")
    for kind in (*codecs.KINDS, "damaged"):
        print(f"{kind:26}{found[kind]:>10}{found[f'{kind}, unlike']:>13}")
    print(f"of the damaged ones {found['still read']} are still messages; {time.monotonic() - started:.0f} s")


def _compare(seed: int) -> Counter[str]:
    """Compare a batch of messages, the same for the same seed."""
    random = Random(seed)  # noqa: S311  the messages must be many, not secret
    found = Counter[str]()
    kinds = list(codecs.KINDS)
    for number in range(BATCH):
        name = kinds[number % len(kinds)]
        message = codecs.a_message(codecs.KINDS[name], random)
        found[name] += 1
        found[f"{name}, unlike"] += bool(codecs.unlike(message))
        damaged = codecs.damaged(codecs.WRITERS[codecs.ADAPTER](message), random)
        found["damaged"] += 1
        found["damaged, unlike"] += bool(codecs.at_odds(damaged))
        found["still read"] += codecs.READERS[codecs.ADAPTER](damaged) is not None
    return found
