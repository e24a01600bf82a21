"""One row per model: its class, its module, its name for ``--method``, the unit it protects and the options it takes.

The public list of the package, the command line and the contract tests are made from these rows, so a new model is one
row here. This module imports no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Form(NamedTuple):
    """One way to run a model on the command line. Options that it neither needs nor takes are refused."""

    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    private: bool = True
    """Whether it gives a guarantee, proven or claimed: then the size of the input must not be printed."""
    defaults: Mapping[str, Any] = {}
    """Values of parameters whose option was not given."""

    @property
    def options(self) -> tuple[str, ...]:
        return (*self.needs, *self.takes)


class Model(NamedTuple):
    """One row of the catalogue."""

    name: str
    """The class, public as ``discreet.NAME``."""
    home: str
    """Its module."""
    method: str
    """Its name for ``--method``."""
    unit: str
    """What its sound form protects by default; *none* if it has no sound form, or one without a guarantee."""
    sound: Form | None
    """The form with a proof, or the form that adds no noise and promises nothing. None: only the published form
    exists."""
    as_published: Form | None = None
    """The paper's own form, with ``--as-published``. Its ε is claimed, where it has one."""
    without_epsilon: Form | None = None
    """The form that runs without ``--epsilon``, if the sound form needs it."""
    users: bool = False
    """Whether ``--group`` makes users the unit."""
    selects_words: bool = False
    """Whether ``fit_text`` can select its words privately, from the same budget."""
    collections: bool = False
    """Whether it compares collections, which ``--collection`` names."""

    @property
    def forms(self) -> Iterator[Form]:
        return (form for form in (self.sound, self.as_published, self.without_epsilon) if form is not None)


MODELS = (
    Model(
        "LDA",
        "discreet.models.lda",
        "lda",
        unit="none",
        sound=Form(
            takes=("sweeps", "beta"),
            private=False,
            defaults={"n_sweeps": 200, "beta": 0.01, "evaluate_every": 0},  # a release keeps no likelihood
        ),
    ),
    Model(
        "PrivateLDA",
        "discreet.models.private.model",
        "private",
        unit="document",
        sound=Form(("epsilon",), ("delta", "budget", "units", "public", "checkpoint")),
        users=True,
        selects_words=True,
    ),
    Model(
        "AdaptedLDA",
        "discreet.models.adapted.model",
        "adapted",
        unit="document",
        sound=Form(("epsilon", "public"), ("delta", "budget", "units"), defaults={"n_topics": 400, "alpha": None}),
        users=True,
        selects_words=True,
    ),
    Model(
        "SubsampledLDA",
        "discreet.models.subsampled.model",
        "subsampled",
        unit="document",
        sound=Form(("epsilon",), ("delta", "budget", "checkpoint", "beta", "adaptive")),
        as_published=Form(("epsilon",), ("delta", "beta", "adaptive")),
        users=True,
        selects_words=True,
    ),
    Model(
        "SpectralLDA",
        "discreet.models.spectral.model",
        "spectral",
        unit="document",
        sound=Form(("epsilon",), ("delta", "budget")),
        as_published=Form(("epsilon", "configuration"), ("delta",)),
        without_epsilon=Form(private=False),
        users=True,
        selects_words=True,
    ),
    Model(
        "VariationalLDA",
        "discreet.models.variational.model",
        "variational",
        unit="document",
        sound=Form(("epsilon",), ("delta", "budget", "units", "checkpoint", "beta")),
        without_epsilon=Form(takes=("beta",), private=False),
        users=True,
        selects_words=True,
    ),
    Model(
        "HybridLDA",
        "discreet.models.hybrid.model",
        "hybrid",
        unit="word",
        # ε of the whole run; the paper gives the parts of one sweep
        sound=Form(("epsilon",), ("delta", "budget", "checkpoint", "sweeps", "beta")),
        as_published=Form(("epsilon-inherent",), ("epsilon-laplace", "sweeps", "beta")),
    ),
    Model(
        "LaplaceLDA",
        "discreet.models.laplace",
        "laplace",
        unit="none",
        sound=None,
        as_published=Form(("epsilon",), ("sweeps", "beta")),  # ε of the noise before the first sweep
    ),
    Model(
        "LaplaceLDA",
        "discreet.models.laplace",
        "laplace-plus",
        unit="none",
        sound=None,
        as_published=Form(("epsilon",), ("sweeps", "beta"), defaults={"every_sweep": True}),  # ε of one sweep's noise
    ),
    Model(
        "LocalLDA",
        "discreet.models.local.model",
        "local",
        unit="bit",
        sound=Form(("epsilon-bit",), ("report-words", "sweeps", "beta")),
        as_published=Form(("epsilon-bit",), ("report-words", "sweeps", "beta")),
    ),
    Model(
        "OnlineLDA",
        "discreet.models.local.online",
        "online",
        unit="none",
        sound=Form(takes=("batch", "sweeps", "beta"), private=False),
    ),
    Model(
        "OnlineLocalLDA",
        "discreet.models.local.online_local",
        "online-local",
        unit="bit",
        sound=Form(("epsilon-bit",), ("report-words", "batch", "sweeps", "beta")),
        as_published=Form(("epsilon-bit",), ("report-words", "batch", "sweeps", "beta")),
    ),
    Model(
        "LBLA",
        "discreet.models.lbla",
        "lbla",
        unit="none",
        sound=Form(takes=("sweeps", "beta", "alpha-rest", "beta-rest"), private=False, defaults={"evaluate_every": 0}),
    ),
    Model(
        "CrossLDA",
        "discreet.models.cross.model",
        "cross-lda",
        unit="none",
        sound=Form(takes=("sweeps", "beta"), private=False),
        as_published=Form(takes=("sweeps", "beta"), private=False),
        collections=True,
    ),
    Model(
        "CrossLBLA",
        "discreet.models.cross.lbla",
        "cross-lbla",
        unit="none",
        sound=Form(takes=("sweeps", "beta", "alpha-rest", "beta-rest"), private=False),
        as_published=Form(takes=("sweeps", "beta", "alpha-rest", "beta-rest"), private=False),
        collections=True,
    ),
    Model(
        "PrivateCrossLDA",
        "discreet.models.cross.private",
        "private-cross",
        unit="document",
        sound=Form(("epsilon",), ("delta", "budget", "units", "public", "checkpoint", "collections")),
        users=True,
        selects_words=True,
        collections=True,
    ),
    Model(
        "HybridCrossLBLA",
        "discreet.models.cross.hybrid",
        "hybrid-cross",
        unit="word",
        sound=Form(("epsilon",), ("delta", "budget", "checkpoint", "sweeps", "beta")),
        as_published=Form(("epsilon-inherent",), ("epsilon-laplace", "sweeps", "beta")),
        collections=True,
    ),
    Model(
        "LaplaceCrossLBLA",
        "discreet.models.cross.laplace",
        "laplace-cross",
        unit="none",
        sound=None,
        as_published=Form(("epsilon",), ("sweeps", "beta")),  # ε of one sweep's noise
        collections=True,
    ),
)

METHODS = {model.method: model for model in MODELS}
