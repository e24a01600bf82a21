"""discreet: topic models of text that must stay private.

The public names are listed here and loaded when first used, so that ``import discreet`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet._catalogue import MODELS

if TYPE_CHECKING:
    from discreet._errors import BudgetExceeded as BudgetExceeded
    from discreet._errors import DataNotFound as DataNotFound
    from discreet._errors import DiscreetError as DiscreetError
    from discreet._errors import InputError as InputError
    from discreet._errors import ReleaseError as ReleaseError
    from discreet._errors import WouldLeak as WouldLeak
    from discreet.corpus import Corpus as Corpus
    from discreet.corpus import Vocabulary as Vocabulary
    from discreet.corpus import datasets as datasets
    from discreet.corpus import read as read
    from discreet.corpus import word_list as word_list
    from discreet.models.adapted.model import AdaptedLDA as AdaptedLDA
    from discreet.models.cross.hybrid import HybridCrossLBLA as HybridCrossLBLA
    from discreet.models.cross.laplace import LaplaceCrossLBLA as LaplaceCrossLBLA
    from discreet.models.cross.lbla import CrossLBLA as CrossLBLA
    from discreet.models.cross.model import CrossLDA as CrossLDA
    from discreet.models.cross.private import PrivateCrossLDA as PrivateCrossLDA
    from discreet.models.fit_text import fit_text as fit_text
    from discreet.models.hybrid.model import HybridLDA as HybridLDA
    from discreet.models.laplace import LaplaceLDA as LaplaceLDA
    from discreet.models.lbla import LBLA as LBLA
    from discreet.models.lda import LDA as LDA
    from discreet.models.local.model import LocalLDA as LocalLDA
    from discreet.models.local.online import OnlineLDA as OnlineLDA
    from discreet.models.local.online_local import OnlineLocalLDA as OnlineLocalLDA
    from discreet.models.local.reports import Reports as Reports
    from discreet.models.monitor import InherentPrivacyMonitor as InherentPrivacyMonitor
    from discreet.models.private.model import PrivateLDA as PrivateLDA
    from discreet.models.related import RelatedWordsMonitor as RelatedWordsMonitor
    from discreet.models.spectral.model import SpectralLDA as SpectralLDA
    from discreet.models.subsampled.model import SubsampledLDA as SubsampledLDA
    from discreet.models.variational.model import VariationalLDA as VariationalLDA
    from discreet.models.vectorizer import PrivateVectorizer as PrivateVectorizer
    from discreet.planning import Plan as Plan
    from discreet.planning import plan as plan
    from discreet.privacy import Budget as Budget
    from discreet.privacy import Guarantee as Guarantee
    from discreet.privacy import Ledger as Ledger
    from discreet.privacy.budget import BudgetFile as BudgetFile
    from discreet.release.release import Release as Release
    from discreet.trends.model import PrivateTrends as PrivateTrends
    from discreet.trends.shares import Trends as Trends

    __version__: str

_HOMES = {
    "Budget": "discreet.privacy",
    "BudgetExceeded": "discreet._errors",
    "BudgetFile": "discreet.privacy.budget",
    "Corpus": "discreet.corpus",
    "DataNotFound": "discreet._errors",
    "DiscreetError": "discreet._errors",
    "Guarantee": "discreet.privacy",
    "InherentPrivacyMonitor": "discreet.models.monitor",
    "InputError": "discreet._errors",
    "Ledger": "discreet.privacy",
    "Plan": "discreet.planning",
    "PrivateTrends": "discreet.trends.model",
    "PrivateVectorizer": "discreet.models.vectorizer",
    "RelatedWordsMonitor": "discreet.models.related",
    "Release": "discreet.release.release",
    "ReleaseError": "discreet._errors",
    "Reports": "discreet.models.local.reports",
    "Trends": "discreet.trends.shares",
    "Vocabulary": "discreet.corpus",
    "WouldLeak": "discreet._errors",
    "datasets": "discreet.corpus.datasets",
    "fit_text": "discreet.models.fit_text",
    "plan": "discreet.planning",
    "read": "discreet.corpus",
    "word_list": "discreet.corpus",
    **{model.name: model.home for model in MODELS},
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Called by Python for a name that is not loaded yet (PEP 562); the value is stored for later uses."""
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("discreet")
    elif name in _HOMES:
        from importlib import import_module

        home = import_module(_HOMES[name])
        value = getattr(home, name, home)  # a public module has no attribute of its own name
    else:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
