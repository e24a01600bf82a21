"""Over-relaxation: collapsed sweeps see counts beyond those of the sweep before, and so need fewer sweeps."""

from __future__ import annotations

from discreet._types import AnyArray
from discreet.kernels.sums.expected import move_beyond

FIRST, HALVED_AFTER = 2.5, 40
"""In sweep t counts are moved on by `FIRST` · `HALVED_AFTER` / (`HALVED_AFTER` + t) times their last change. With 1.5
to 4 at first, halved after 25 to 100 sweeps, perplexity after 200 sweeps differed by 0.5%, as it does between seeds,
except on very short documents (``docs/design.md``)."""


class OverRelaxation:
    """The counts that the sweeps of one run see (Salakhutdinov and Roweis, "Adaptive overrelaxed bound optimization
    methods", ICML 2003). Differs from the paper: steps shrink with the number of the sweep, and adapt to nothing.

    A sweep moves expected counts a little, for many sweeps in the same direction. What a sweep sees lies beyond the
    counts after the sweep before, by some times what that sweep changed. Where counts do not change any more they are
    seen as they are, so what a run converges to is not changed.
    """

    def __init__(self) -> None:
        self._before: AnyArray | None = None

    def seen(self, counts: AnyArray, number: int) -> AnyArray:
        """What sweep ``number`` sees in place of ``counts``. They are kept, and the next call writes to them."""
        seen, self._before = self._before, counts
        if seen is None:
            return counts
        n_topics = counts.shape[-1]
        more = FIRST * HALVED_AFTER / (HALVED_AFTER + number)
        move_beyond(counts.reshape(-1, n_topics), seen.reshape(-1, n_topics), more)
        return seen
