"""Threads that share pieces of work."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from discreet.engines.threads import workers
from discreet.engines.threads.workers import Workers


class Unlocked:
    """An iterator as it would be without Python's lock: another thread may come between looking and taking."""

    def __init__(self, items: range) -> None:
        self.place, self.items = 0, items

    def __iter__(self) -> Unlocked:
        return self

    def __next__(self) -> int:
        place = self.place
        time.sleep(0.0001)
        if place >= len(self.items):
            raise StopIteration
        self.place = place + 1
        return self.items[place]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("n_pieces", [0, 1, 200])
def test_each_piece_is_done_once(monkeypatch, n_threads, n_pieces):
    """Of 200 pieces, threads that are not kept apart do nearly every one twice or more."""
    monkeypatch.setattr(workers, "iter", Unlocked, raising=False)
    done: Counter[int] = Counter()
    threads = Workers(n_threads)
    threads.share(lambda thread, piece: done.update([piece]), n_pieces)
    threads.close()
    assert done == Counter(range(n_pieces))


def test_a_thread_takes_its_own_pieces_first_and_then_helps_others():
    """Thread 1 sleeps in its first piece until all other pieces are done, so thread 0 does them."""
    done: list[tuple[int, int]] = []
    threads, n_pieces = Workers(2), 6

    def work(thread: int, piece: int) -> None:
        while thread == 1 and len(done) < n_pieces - 1:
            time.sleep(0.001)
        while thread == 0 and not waiting:  # thread 1 has its first piece
            time.sleep(0.001)
        done.append((thread, piece))

    waiting: list[int] = []
    threads.share(lambda thread, piece: (waiting.append(piece) if thread else None, work(thread, piece))[1], n_pieces)
    threads.close()
    assert waiting == [1]
    assert done == [(0, 0), (0, 2), (0, 4), (0, 3), (0, 5), (1, 1)]


def test_an_error_of_another_thread_is_raised():
    threads = Workers(2)

    def work(thread: int, piece: int) -> None:
        time.sleep(0.001)
        if thread == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.share(work, 50)
    threads.close()
