"""What the tests on neighbours share: a release that writes down what it was given, and answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.mechanisms.release import release_sum


def recorded(run: Any, answers: list[np.ndarray] | None) -> Callable[..., np.ndarray]:
    """In place of ``release_sum``: into ``run`` go exact cells, numbers, events and noisy cells; ``answers`` take the
    place of what would be released."""

    def release(cells, event, reservation, *, key, number, n_threads=1):
        run.exact.append(cells.copy())
        run.numbers.append(number)
        run.events.append(event)
        if answers is None:
            noise = len(run.exact)  # a broken copy may ask for the same number twice: it shall get that far
            noisy = release_sum(cells.copy(), event, reservation, key=key, number=noise, n_threads=n_threads)
        else:
            reservation.draw(event=event)
            noisy = answers[len(run.noisy)].copy()
        run.noisy.append(noisy.copy())
        return noisy

    return release
