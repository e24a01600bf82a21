"""What was charged, in words: for people who read a report or a notebook. The ledger keeps the exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import groupby

from discreet._errors import counted
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    Entry,
    Event,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    PureRelease,
    ThresholdedVocabulary,
    UnknownEvent,
)


def steps(entries: Sequence[Entry]) -> Iterator[tuple[str, int, list[Entry]]]:
    """Neighbours with one label and of one kind are a step: its label, how many times, and the entries."""
    for (label, _), group in groupby(entries, key=lambda entry: (entry.label, type(entry.event))):
        together = list(group)
        yield label or "(no label)", sum(entry.count for entry in together), together


def told(entries: Sequence[Entry], unit: str = "unit") -> str:
    """Entries of one kind in words; those of rounds may differ in their noise. ``unit`` is what the ledger protects."""
    events = [entry.event for entry in entries]
    gaussian = [event for event in events if isinstance(event, DiscreteGaussianRelease | GaussianRelease)]
    return _gaussian(gaussian, unit) if gaussian else _told(events[0], unit)


def _gaussian(events: Sequence[DiscreteGaussianRelease | GaussianRelease], unit: str) -> str:
    noise = sorted({float(f"{event.sigma:.3g}") for event in events}, reverse=True)
    many = {f"{event.cells:,} numbers, " for event in events if isinstance(event, DiscreteGaussianRelease)}
    amount = f"{noise[0]:g}" if len(noise) == 1 else f"{noise[0]:g} falling to {noise[-1]:g}"
    rate = min(event.sampling_rate for event in events)
    part = "" if rate == 1 else f"; each {unit} takes part with probability {rate:.3g}, by a coin of its own"
    return f"{''.join(sorted(many))}Gaussian noise of {amount}{part}"


@singledispatch
def _told(event: Event, unit: str) -> str:
    return str(event)


@_told.register
def _(event: ThresholdedVocabulary, unit: str) -> str:
    return (
        f"words whose weight passes a threshold after Gaussian noise of {event.sigma:.3g}; at most "
        f"{counted(event.max_words, 'word')} of one {unit} count, and a word that only one {unit} has passes with "
        f"probability {event.delta_threshold:.2g} at most"
    )


@_told.register
def _(event: LaplaceRelease, unit: str) -> str:
    return f"one number, Laplace noise of {event.scale:.3g}"


@_told.register
def _(event: DiscreteLaplacePair, unit: str) -> str:
    return f"counts, discrete Laplace noise of scale {2 / event.epsilon:.3g}"


@_told.register
def _(event: DiscreteLaplaceRelease, unit: str) -> str:
    return f"{counted(event.cells, 'number')}, discrete Laplace noise of {event.scale / event.sensitivity:.3g}"


@_told.register
def _(event: BoundedRangeDraw, unit: str) -> str:
    return f"one draw, whose log-probabilities move within {event.eta:.3g}"


@_told.register
def _(event: PureRelease, unit: str) -> str:
    return f"something that is private by itself with ε = {event.epsilon:.4g}"


@_told.register
def _(event: NonPrivate, unit: str) -> str:
    return "released without protection"


@_told.register
def _(event: UnknownEvent, unit: str) -> str:
    return f"{event.name}, which this version of the program does not know"
