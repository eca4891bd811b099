from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from chalicelib.gateways import Once


def test_threads_that_come_at_once_get_the_same_client_which_is_created_once() -> None:
    created: list[object] = []
    together = Barrier(16)

    @Once
    def client() -> object:
        created.append(object())
        return created[-1]

    def get(_: int) -> object:
        together.wait()
        return client()

    with ThreadPoolExecutor(16) as pool:
        got = set(pool.map(get, range(16)))

    assert got == set(created)
    assert len(created) == 1


def test_a_client_is_created_anew_after_the_cache_was_cleared() -> None:
    client = Once(object)
    first = client()
    client.cache_clear()

    assert client() is not first
