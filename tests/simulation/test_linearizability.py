"""Answers that could have been given one after the other, and answers that could not."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.linearizability import Event, Observation, first_contradiction

EVENTS = [Event("stored", 0), Event("decided", 0, frozenset({0})), Event("reversed", 0, frozenset({1}))]


def saw(count: int, begin: float, end: float) -> Observation:
    """An answer that shows so many of the events."""
    return Observation(f"{count} at {begin}", begin, end, lambda happened: len(happened) == count)


def test_what_is_seen_in_the_order_of_the_events_is_explained() -> None:
    assert first_contradiction(EVENTS, [saw(1, 0, 1), saw(2, 2, 3), saw(3, 4, 5)]) is None


def test_what_was_seen_once_is_seen_from_then_on() -> None:
    assert first_contradiction(EVENTS, [saw(2, 0, 1), saw(1, 2, 3), saw(3, 4, 5)]) == "1 at 2"


def test_answers_that_overlap_may_show_either() -> None:
    assert first_contradiction(EVENTS, [saw(2, 0, 3), saw(1, 1, 4)]) is None


def test_an_event_does_not_happen_before_it_can() -> None:
    late = [Event("stored", 5)]

    assert first_contradiction(late, [saw(1, 0, 4)]) == "1 at 0"
    assert first_contradiction(late, [saw(1, 0, 6)]) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 4)).map(lambda t: (t[0], t[1], t[1] + t[2])),
        max_size=5,
    )
)
def test_it_is_what_trying_every_order_says(seen: list[tuple[int, int, int]]) -> None:
    observations = [saw(count, begin, end + 0.5) for count, begin, end in seen]

    def is_an_order(order: tuple[tuple[int, int, int], ...]) -> bool:
        counts = [count for count, _, _ in order]
        in_time = all(later[2] + 0.5 >= former[1] for n, former in enumerate(order) for later in order[n + 1 :])
        return counts == sorted(counts) and in_time

    possible = any(is_an_order(order) for order in permutations(seen))
    assert (first_contradiction(EVENTS, observations) is None) is possible
