"""Turns: functions in threads of which one runs at a time, in an order that is drawn from a seed."""

import random
import threading
from collections.abc import Callable


class Turns:
    """Runs functions in threads, one at a time; at each call to the store or an acquirer the seed says who goes on."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  an order, not a secret
        self._gates: dict[int, threading.Semaphore] = {}
        self._paused = threading.Semaphore(0)
        self._failures: list[BaseException] = []

    def run(self, *functions: Callable[[], None]) -> None:
        """Until all of them are done; raises what one of them raised."""
        threads = [threading.Thread(target=self._run, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
            self._paused.acquire()  # it waits for its first turn
        turn = 0
        while alive := [thread.ident for thread in threads if thread.ident in self._gates]:
            if turn not in alive or self._random.random() < 0.3:  # runs of one: a whole sweep fits between two calls
                turn = self._random.choice(alive)
            self._gates[turn].release()
            self._paused.acquire()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def hook(self, _when: str, _name: str) -> None:
        """Wait for the next turn."""
        gate = self._gates.get(threading.get_ident())
        if gate is not None:
            self._paused.release()
            gate.acquire()

    def _run(self, function: Callable[[], None]) -> None:
        own = threading.get_ident()
        gate = self._gates[own] = threading.Semaphore(0)
        self._paused.release()
        gate.acquire()
        try:
            function()
        except BaseException as failure:  # noqa: BLE001  raised again where the test sees it
            self._failures.append(failure)
        finally:
            del self._gates[own]
            self._paused.release()
