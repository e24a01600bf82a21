"""The numbers that models take, and why not others.

Kernels compute in float32, whose numbers end at 3·10³⁸ and lose precision below 10⁻³⁸. A number beyond those turns sums
into infinities, and a bound that is proved for real numbers no longer holds for the draw. Each range below keeps every
product of a fit far within them, and is far wider than any useful value.
"""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

LEAST_PRIOR, MOST_PRIOR = 1e-6, 1e6

PRIOR = Interval(Real, LEAST_PRIOR, MOST_PRIOR, closed="both")
"""α, β and α₀. ``models/hybrid/proof.md`` needs it: products of priors, counts and weights must be normal numbers."""

EPSILON = Interval(Real, 1e-9, 1e6, closed="both")
"""Below, the noise would be more than 10⁹ times the clip, which no calibration tries. Above, a clip would be more steps
of the grid than kernels can check (2²⁶), and every contribution would be zero."""

DELTA = Interval(Real, 1e-30, 1, closed="left")
"""The noise as implemented costs up to 10⁻³³ of δ for each value (``accounting.proof.md``)."""

RATE = Interval(Real, 1e-6, 1, closed="both")
"""Of sampling: a coin has 32 bits, so smaller rates would be coarse."""

CLIP = Interval(Real, 1e-3, 2.0**24, closed="both")
"""In tokens. No unit has more than that many (``LARGEST_UNIT``); below, squares of a long unit's counts, in steps of
the grid, would overflow float32."""

N_UNITS = Interval(Integral, 1, 2**53, closed="both")
"""Up to here float64 counts exactly."""
