"""Where a model runs: on the threads of this machine, or on an engine that it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from discreet import engines
from discreet._errors import InputError
from discreet.corpus.stored import StoredCorpus, removed_after
from discreet.models.base import TopicModel
from discreet.models.estimator import estimator
from discreet.training import self_test

HOW = ("text", "counts")
"""Columns of documents, which a model remembers for ``transform``."""


@estimator
class Placed(TopicModel):
    """A model whose rounds can run elsewhere. It does not know where: an engine has the ``open_...`` functions of
    ``discreet.engines``, and reads tables of its own."""

    runs_elsewhere = True

    engine: Annotated[Any, HasMethods(["open_units", "read", "holds"]), None] = None

    @property
    def _backend(self) -> Any:
        if self.engine is None:
            return engines
        if self.shows_run:
            return self.engine
        return self.engine.checking(partial(self_test.check, self._self_tests))  # compiled code differs by machine

    @contextmanager
    def _documents(
        self, X: Any, groups: Any, columns: Mapping[str, Any], max_tokens: int | None, *, reset: bool = True
    ) -> Iterator[tuple[Any, Any]]:
        """The documents that a fit reads and their users: those of ``X``, or of a table of the engine. Of a table, the
        engine keeps them until the end of the fit."""
        read = None
        if self.engine is not None and self.engine.holds(X):
            if not self.shows_run and columns.get("text") is not None and columns.get("vocabulary") is None:
                raise InputError(
                    f"{type(self).__name__} takes words that are public, or that were selected privately. Give "
                    "vocabulary=, or read the table with a PrivateVectorizer on the same engine."
                )
            X = read = self._backend.read(X, groups=groups, **columns)
            groups = None
        elif columns:
            raise InputError(
                f"{', '.join(f'{name}=' for name in columns)}: these are for a table of engine=. Leave them out."
            )
        with removed_after(read):
            if isinstance(X, StoredCorpus):
                yield self._read_stored(X, columns), groups
            else:
                yield self._read(X, reset=reset, max_tokens=max_tokens), groups

    def _read_stored(self, stored: StoredCorpus, columns: Mapping[str, Any]) -> StoredCorpus:
        if self.engine is None:
            raise InputError("these documents are kept by an engine. Give the model the same engine=.")
        self._forget()
        self.n_features_in_, self._vocabulary = stored.n_words, stored.vocabulary.words
        self._columns = {name: columns[name] for name in HOW if columns.get(name) is not None}
        if stored.tokenizer is not None:
            self._tokenizer = stored.tokenizer.without_stop_words()
        return stored

    def transform(self, X: Any, **columns: str) -> Any:
        """Topic proportions of documents, one row each, with the topics held fixed (fold-in).

        They describe the documents given: if those are private, only their curator may see the result. A table of the
        engine gets a column ``topics``; ``text=`` or ``counts=`` names its documents, by default as in ``fit``.
        """
        if self.engine is None or not self.engine.holds(X):
            if columns:
                raise InputError("text= and counts= name columns of a table of engine=. Leave them out.")
            return super().transform(X)
        check_is_fitted(self)
        where = columns or getattr(self, "_columns", {})
        if "text" in where and self._tokenizer is None:
            raise InputError("this model was trained on counts, and does not know how text becomes words.")
        words = self._vocabulary or [f"word{i}" for i in range(self.n_features_in_)]
        known = (self.components_, self.alpha_, words, self._tokenizer)
        return self.engine.mixtures(X, *known, alpha_rest=self.alpha_rest_, **where)
