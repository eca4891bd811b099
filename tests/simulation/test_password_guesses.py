"""The passwords at one login: which answers an order of the attempts explains."""

from tests.simulation.password_guesses import ANYTHING, LOCKED, NEVER, RIGHT, WRONG, Attempt, first_impossible


def in_turn(*what: str, begin: float = 0.0) -> list[Attempt]:
    """Attempts one after the other, a second each."""
    return [Attempt(f"{one} {n}", begin + n, begin + n + 0.5, (one,)) for n, one in enumerate(what)]


def at_once(*what: str) -> list[Attempt]:
    """Attempts in the same second."""
    return [Attempt(f"{one} {n}", 0.0, 1.0, (one,)) for n, one in enumerate(what)]


def test_ten_wrong_passwords_lock_and_a_right_one_ends_the_count() -> None:
    assert first_impossible(in_turn(*[WRONG] * 10, LOCKED)) is None
    assert first_impossible(in_turn(*[WRONG] * 9, RIGHT, *[WRONG] * 10, LOCKED)) is None


def test_an_eleventh_wrong_password_is_not_told() -> None:
    assert first_impossible(in_turn(*[WRONG] * 11)) == "wrong 10"
    assert first_impossible(at_once(*[WRONG] * 11)) is not None


def test_a_right_password_does_not_open_what_is_locked() -> None:
    assert first_impossible(in_turn(*[WRONG] * 10, RIGHT)) == "right 10"


def test_nobody_is_locked_out_by_what_was_wrong_before_a_right_password() -> None:
    assert first_impossible(in_turn(*[WRONG] * 6, RIGHT, *[WRONG] * 4, LOCKED)) == "locked 11"


def test_a_right_password_at_the_same_time_may_come_before_all_others() -> None:
    assert first_impossible(at_once(*[WRONG] * 10, RIGHT, LOCKED)) is None


def test_a_right_password_that_unlocks_is_seen_by_the_guesses_after_it() -> None:
    crowd = [*at_once(*[WRONG] * 10, RIGHT), Attempt("locked", 2, 3, (LOCKED,))]

    assert first_impossible(crowd) is None
    assert first_impossible([*crowd, Attempt("wrong again", 4, 5, (WRONG,))]) == "wrong again"


def test_the_lock_lasts_half_an_hour_and_no_longer() -> None:
    locked = in_turn(*[WRONG] * 10)

    assert first_impossible([*locked, *in_turn(RIGHT, begin=1700)]) == "right 0"
    assert first_impossible([*locked, *in_turn(RIGHT, begin=1900)]) is None
    assert first_impossible([*locked, *in_turn(LOCKED, begin=1900)]) == "locked 0"


def test_an_attempt_without_an_answer_may_have_been_counted_or_not() -> None:
    lost = Attempt("lost", 0.0, NEVER, ANYTHING)

    assert first_impossible([lost, *in_turn(*[WRONG] * 9, LOCKED, begin=1)]) is None
    assert first_impossible([lost, *in_turn(*[WRONG] * 10, LOCKED, begin=1)]) is None


def test_an_attempt_whose_write_was_repeated_may_have_been_counted_twice() -> None:
    twice = Attempt("repeated", 0.0, 0.5, (WRONG, f"{WRONG} 2"))

    assert first_impossible([twice, *in_turn(*[WRONG] * 8, LOCKED, begin=1)]) is None
    assert first_impossible([twice, *in_turn(*[WRONG] * 7, LOCKED, begin=1)]) == "locked 7"
