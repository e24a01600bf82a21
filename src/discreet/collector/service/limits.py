"""How many reports one token may send: a bucket that fills at a steady rate and holds one minute's worth."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 10_000


class RateLimit:
    """One bucket per token. A bucket that is full again is forgotten, so memory stays small."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, token_id: str, n: int, per_minute: int) -> int:
        """Take ``n`` reports out of the bucket. Returns 0, or after how many seconds to try again; then nothing was
        taken."""
        now = self._clock()
        then, level = self._buckets.pop(token_id, (now, float(per_minute)))
        level = min(per_minute, level + (now - then) * per_minute / 60)
        short = n - level
        self._buckets[token_id] = (now, level - n if short <= 0 else level)
        while len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return 0 if short <= 0 else max(1, math.ceil(short * 60 / per_minute))
