"""The allowed values of parameters, and the reasons. Each is a type for a field of an estimator (`estimator.py`).

Kernels compute in float32, whose largest number is 3·10³⁸ and which loses precision below 10⁻³⁸. A number outside this
range turns sums into infinities, and a bound that is proved for real numbers no longer holds for the draw. Each range
below keeps every product of a fit far inside it, and is far wider than any useful value.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from discreet.engines.interface import LARGEST_UNIT, MAX_TOPICS, MOST_SWEEPS

LEAST_PRIOR, MOST_PRIOR = 1e-6, 1e6
_PRIOR = Interval(Real, LEAST_PRIOR, MOST_PRIOR, closed="both")

Prior = Annotated[float, _PRIOR]
"""β and α₀. ``models/hybrid/proof.md`` needs it: products of priors, counts and weights must be normal numbers."""

Alpha = Annotated[Any, _PRIOR, "array-like"]
"""One prior, or one for each topic (`base.broadcast_alpha` holds them to the same range)."""

Epsilon = Annotated[float, Interval(Real, 1e-9, 1e6, closed="both")]
"""With a smaller value the noise would be more than 10⁹ times the clip, which no calibration tries. With a larger one,
a clip would be more steps of the grid than kernels can check (2²⁶), and every contribution would be zero."""

LEAST_DELTA = 1e-30
Delta = Annotated[float, Interval(Real, LEAST_DELTA, 1, closed="left")]
"""The noise as implemented costs up to 10⁻³³ of δ for each value (``accounting.proof.md``)."""

Rate = Annotated[float, Interval(Real, 1e-6, 1, closed="both")]
"""Sampling rates. A random coin has 32 bits, so smaller rates would be imprecise."""

Clip = Annotated[float, Interval(Real, 1e-3, 2.0**24, closed="both")]
"""In tokens. No unit has more than the upper bound (``LARGEST_UNIT``); below the lower bound, squares of a long unit's
counts, in steps of the grid, would overflow float32."""

Units = Annotated[int, Interval(Integral, 1, 2**53, closed="both")]
"""float64 counts exactly up to the upper bound."""

Tokens = Annotated[int, Interval(Integral, 1, LARGEST_UNIT, closed="both")]
"""Tokens of one unit."""

Topics = Annotated[int, Interval(Integral, 1, MAX_TOPICS, closed="both")]
AutoTopics = Annotated[Any, Interval(Integral, 1, MAX_TOPICS, closed="both"), StrOptions({"auto"})]
"""A number, or as many as the plan says that the noise can carry."""

Sweeps = Annotated[int, Interval(Integral, 1, 2**31, closed="both")]
"""Sweeps or rounds of a run: their numbers have 32 bits."""

LocalSweeps = Annotated[int, Interval(Integral, 1, MOST_SWEEPS, closed="both")]
"""Sweeps of one unit in one round."""

AtLeastOne = Annotated[int, Interval(Integral, 1, None, closed="left")]
WordPower = Annotated[float, Interval(Real, -1, 0, closed="both")]
WordPrior = Annotated[Any, "array-like", dict, None]
RandomState = Annotated[Any, "random_state", np.random.Generator]
