"""How kernels are compiled: one place for the flags, with decorators that keep the types of functions.

No ``fastmath`` anywhere: it would let the compiler reorder sums, and the same seed would give other topics on another
machine. Everything releases Python's lock and is cached on disk (``cache.py``), so a second process compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import register_jitable

from discreet.kernels.cache import folder_for_numba, is_kept_in

_F = TypeVar("_F", bound=Callable[..., Any])

at = np.uint64
"""An index that is never negative. An index that might be negative is compared with zero before each use, because
negative ones count from the end: a quarter of the time of a kernel that reads single cells."""


def _compiled(function: _F, **options: Any) -> _F:
    with folder_for_numba() as folder:
        if folder is not None:
            compiled: _F = numba.njit(nogil=True, cache=True, **options)(function)
            if is_kept_in(compiled, folder):
                return compiled
    in_memory: _F = numba.njit(nogil=True, **options)(function)
    return in_memory


def kernel(function: _F) -> _F:
    """A compiled loop that may allocate arrays. Division by zero gives infinity, as in numpy: a check would prevent
    vectorisation of a loop."""
    return _compiled(function, error_model="numpy")


def bare_kernel(function: _F) -> _F:
    """A compiled loop that allocates nothing and counts no references (numba's runtime is switched off).

    Counting references costs two atomic operations whenever an array is passed to a function: more than half of the
    time of a sweep (measured).
    """
    return _compiled(function, _nrt=False)


def part(function: _F) -> _F:
    """A piece of a bare kernel: compiled where it is called, plain Python in a kernel's Python body."""
    compiled: _F = register_jitable(_nrt=False)(function)
    return compiled


def outlined_part(function: _F) -> _F:
    """A piece that runs once per document. It is not inlined into the loop over tokens, which can then use all
    registers. An ordinary `part` would be: numba applies the inlining of an `inlined_part` to everything that it
    calls."""
    compiled: _F = register_jitable(_nrt=False, forceinline=False)(function)
    return compiled


def inlined_part(function: _F) -> _F:
    """A piece of the innermost loop that LLVM would consider too long to inline: passing its arrays takes more time
    than its work."""
    compiled: _F = register_jitable(_nrt=False, forceinline=True)(function)
    return compiled
