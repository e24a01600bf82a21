"""In a notebook a fitted model shows what it promises, under scikit-learn's diagram of its parameters."""

from __future__ import annotations

from html import escape
from typing import Any


class ShowsGuarantee:
    """For estimators with a ``guarantee_``; must come before ``BaseEstimator`` in the list of bases."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._promise_in_html()  # type: ignore[misc,no-any-return]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._promise_in_html()
        return bundle

    def _promise_in_html(self) -> str:
        """Empty before a fit."""
        guarantee, usefulness = getattr(self, "guarantee_", None), getattr(self, "usefulness_", None)
        if guarantee is None:
            return ""
        useful = "" if usefulness is None else f"<div>{escape(usefulness.summary())}</div>"
        return f"<div><b>guarantee</b></div>{guarantee._repr_html_()}{useful}"
