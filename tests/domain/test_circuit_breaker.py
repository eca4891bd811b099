from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.circuit_breaker import OPENS_AFTER, Breaker, Use, may_begin, may_continue, share

REQUESTS = st.lists(st.booleans(), max_size=40)  # whether each was answered


def after(answers: list[bool], breaker: Breaker | None = None) -> Breaker:
    breaker = breaker or Breaker()
    for answered in answers:
        breaker = breaker.after(answered=answered)
    return breaker


@given(REQUESTS)
def test_a_breaker_is_open_when_the_latest_requests_got_no_answer_and_not_otherwise(answers: list[bool]) -> None:
    latest = answers[-OPENS_AFTER:]

    assert after(answers).is_open == (len(latest) == OPENS_AFTER and not any(latest))


@given(REQUESTS)
def test_one_answer_closes_a_breaker_whatever_came_before(answers: list[bool]) -> None:
    assert after([*answers, True]) == Breaker()


@given(threads=st.integers(1, 64), acquirers=st.integers(0, 100))
def test_shares_are_equal_use_no_more_than_there_is_and_leave_nobody_without(threads: int, acquirers: int) -> None:
    each = share(threads, acquirers)

    assert each >= 1
    assert each == 1 or each * acquirers <= threads
    assert (each + 1) * max(1, acquirers) > threads


@given(answers=REQUESTS, running=st.integers(0, 20), tried=st.booleans(), most=st.integers(1, 16))
def test_an_acquirer_never_exceeds_its_share(answers: list[bool], running: int, most: int, *, tried: bool) -> None:
    assert not (may_begin(after(answers), Use(running, tried), most) and running >= most)


@given(running=st.integers(0, 20), tried=st.booleans())
def test_a_silent_acquirer_gets_one_try_a_run(running: int, *, tried: bool) -> None:
    silent = after([False] * OPENS_AFTER)

    assert may_continue(silent, Use(running, tried)) == (running == 0 and not tried)


@given(answers=REQUESTS, running=st.integers(0, 20), tried=st.booleans())
def test_a_breaker_that_holds_nothing_only_counts(answers: list[bool], running: int, *, tried: bool) -> None:
    counting = after(answers, Breaker(holds=False))

    assert counting.unanswered == after(answers).unanswered
    assert may_continue(counting, Use(running, tried))


@given(answers=REQUESTS, threads=st.integers(1, 16), before=REQUESTS)
def test_a_run_sends_a_silent_acquirer_no_more_than_its_threads_and_the_requests_that_opened_it(
    answers: list[bool], threads: int, before: list[bool]
) -> None:
    """One acquirer, as many at once as it may; the requests are answered in the order they were sent."""
    breaker, use, sent, coming = after(before), Use(), 0, iter(answers)
    while may_begin(breaker, use, threads):
        while may_begin(breaker, use, threads):
            use = Use(use.running + 1, use.tried)
        for _ in range(use.running):
            answered = next(coming, False)
            breaker = breaker.after(answered=answered)
            use = Use(use.running - 1, tried=True)
            sent += 1

    assert breaker.is_open
    assert sent <= len(answers) + OPENS_AFTER + threads
