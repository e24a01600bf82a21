"""Was this document in the training set? Attacks that answer from the published topics.

A bank of shadow models (``bank.py``), each trained on a random half of the documents, gives for every document its
statistic with and without it in the training set; LiRA compares the target's with both (``scores.py``), and ``roc.py``
says how often such an answer is right. Names are resolved on first use, so importing this is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.attacks.membership.attacked import Attacked, attack
    from discreet.attacks.membership.bank import Bank, Plan, open_bank
    from discreet.attacks.membership.recipe import Recipe
    from discreet.attacks.membership.roc import Curve, implied_bound
    from discreet.attacks.membership.scores import scores_of, scores_of_each

__all__ = [
    "Attacked",
    "Bank",
    "Curve",
    "Plan",
    "Recipe",
    "attack",
    "implied_bound",
    "open_bank",
    "scores_of",
    "scores_of_each",
]

_HOME = {
    "attacked": ("Attacked", "attack"),
    "bank": ("Bank", "Plan", "open_bank"),
    "recipe": ("Recipe",),
    "roc": ("Curve", "implied_bound"),
    "scores": ("scores_of", "scores_of_each"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
