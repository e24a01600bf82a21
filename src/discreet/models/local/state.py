"""What `OnlineLocalLDA` keeps between two batches, as named arrays: for files, other processes, other machines.

All of it is computed from randomised reports (and public prior data), so it is no more private than these. Arrays of
numbers and text only: ``np.savez`` stores them, and ``np.load(allow_pickle=False)`` reads them back and runs no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet._errors import InputError
from discreet.mechanisms.local import RandomisedResponse

if TYPE_CHECKING:
    from discreet.models.local.online_local import OnlineLocalLDA

State = dict[str, NDArray[Any]]

ALWAYS = ("topic_counts_", "n_batches_", "correlation_", "seeded_", "conditions_")
SOMETIMES = ("n_reports_", "estimates_", "mean_", "estimate_", "size_", "has_prior_")
"""Of training that knows the noise, of the published form, of prior data; states of earlier versions lack the first."""
TABLES = {"topic_counts_": 2, "estimates_": 1, "mean_": 1, "estimate_": 1}
"""Those that have a row per word, and their dimensions."""
SCALARS: dict[str, Any] = {
    "n_batches_": int,
    "correlation_": float,
    "seeded_": bool,
    "n_reports_": int,
    "size_": int,
    "has_prior_": bool,
}
RESPONSE = "response"


def pack(model: OnlineLocalLDA) -> State:
    """The state of a model that has seen at least one batch of reports."""
    if not hasattr(model, "response_"):
        raise InputError("there is no state before the first batch of reports. Call partial_fit first.")
    found = {name: np.array(getattr(model, name)) for name in (*ALWAYS, *SOMETIMES) if hasattr(model, name)}
    found["conditions_"] = np.array(model.conditions_, dtype=np.str_)
    about = model.response_
    found[RESPONSE] = np.array([about.threshold, about.n_words, about.max_words or 0], np.int64)
    return found


def unpack(state: Mapping[str, NDArray[Any]], n_words: int, n_topics: int) -> dict[str, Any]:
    """The attributes that `pack` stored, checked; ``response_`` among them."""
    missing = [name for name in (*ALWAYS, RESPONSE) if name not in state]
    if missing:
        raise InputError(
            f"this is not a state of OnlineLocalLDA: it has no {missing[0]!r}. Give what state() returned."
        )
    threshold, n_reported, most = (int(value) for value in np.ravel(state[RESPONSE])[:3])
    if n_reported != n_words:
        raise InputError(f"the state is about {n_reported:,} words, but the vocabulary has {n_words:,}. Give its own.")
    found: dict[str, Any] = {
        "response_": RandomisedResponse(threshold=threshold, n_words=n_words, max_words=most or None)
    }
    for name in (*ALWAYS, *SOMETIMES):
        if name not in state:
            continue
        value = state[name]
        if name in TABLES:
            shape = (n_words, n_topics)[: TABLES[name]]
            if value.shape != shape or value.dtype != np.float64 or not np.isfinite(value).all():
                raise InputError(
                    f"{name} of the state must be finite numbers of shape {shape}, found {value.dtype} of shape "
                    f"{value.shape}: it belongs to another model, or is damaged."
                )
            found[name] = value.copy()
        elif name == "conditions_":
            found[name] = tuple(str(one) for one in value)
        else:
            found[name] = SCALARS[name](value)
    return found
