"""The pages: what each shows, as values for its template. Templates escape whatever they are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from discreet._errors import counted
from discreet._types import FloatArray, IntArray
from discreet.explore.classes import Classes
from discreet.explore.explorer import Explorer
from discreet.explore.paging import Pager, number, place
from discreet.release.measured import Measured

DOCUMENTS = 50
"""Documents on a page."""
CLASSES = 25
"""Classes on a page."""
WORDS = 30
"""Words of a topic."""
BEGINNING = 180
"""Characters of a document in a list."""
LONGEST_TEXT = 50_000
"""Characters of a document that are shown unless all are asked for."""
SMALL_SHARE = 0.05
"""A topic with less of a document and without a word of it there is left out: its share is the prior's."""
COLOURS = 8
"""Topics of a document that have a colour."""
MANY_CLASSES = 500
"""The page of a topic lists its share in each class if there are at most so many."""
PATIENCE, LONGER = 0.5, 3.0
"""Seconds for which a page waits for its numbers before it says that they are being computed: at first, and when
somebody looks again. A page that loads itself again would take it away from those who read slowly or by ear."""

MEASURES: list[tuple[str, str, Callable[[tuple[Measured, float]], str]]] = [
    ("perplexity", "document completion; lower is better", lambda m: f"{m[0].held_out.perplexity:,.2f}"),
    ("unigram", "the same by word frequencies alone: what topics must beat", lambda m: f"{m[0].unigram:,.2f}"),
    ("coverage", "share of the tokens, stop words apart, that are words of the model", lambda m: f"{m[1]:.4f}"),
    ("C_V", "coherence of the best words of each topic; higher is better", lambda m: f"{m[0].c_v.mean:.4f}"),
    ("C_NPMI", "the same by normalised mutual information", lambda m: f"{m[0].c_npmi.mean:.4f}"),
    ("U_Mass", "the same by documents that hold both words", lambda m: f"{m[0].u_mass.mean:.4f}"),
    ("diversity", "share of different words among the best of each topic", lambda m: f"{m[0].diversity:.4f}"),
]
"""Name, meaning, and how to show it."""


@lru_cache(maxsize=1)
def style() -> bytes:
    return files("discreet.explore").joinpath("web", "style.css").read_bytes()


class Pages:
    """One method for each page. ``root`` is the address under which they are, without a slash at its end."""

    def __init__(self, explorer: Explorer, root: str) -> None:
        self._explorer, self._root = explorer, root
        loader = jinja2.PackageLoader("discreet.explore", "web")
        self._templates = jinja2.Environment(
            loader=loader,
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        places = [("Topics", "/"), ("Documents", "/documents")]
        places += [(f"By {kind}", f"/by/{kind}") for kind in explorer.classes]
        places += [("Measures", "/measures"), *([] if explorer.other is None else [("Two models", "/compare")])]
        about = {"root": root, "explorer": explorer, "counted": counted, "columns": list(explorer.classes)}
        self._templates.globals["places"] = places
        self._templates.globals.update(about)
        self._means = lru_cache(maxsize=64)(self._means_of)

    def _page(
        self,
        template: str,
        title: str,
        *,
        here: str = "",
        status: int = 200,
        **values: Any,
    ) -> Response:
        """``here`` is the place in the menu, if the page is one of it."""
        text = self._templates.get_template(template).render(title=title, here=here, **values)
        return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")

    def missing(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        what = "There is no such page" if status == 404 else "Something went wrong; the terminal says more"
        return self._page("message.html", what, status=status, again="")

    # --- topics -------------------------------------------------------------------------------------------------------

    def topics(self, request: Request) -> Response:
        by_number = request.query_params.get("sort") == "topic"
        means = self._explorer.shares.means
        order = range(len(means)) if by_number else np.argsort(-means, kind="stable").tolist()
        largest = float(means.max()) or 1.0
        rows = [(k, means[k], means[k] / largest, self._explorer.top_words[k]) for k in order]
        return self._page("topics.html", "Topics", here="/", rows=rows, by_number=by_number)

    def topic(self, request: Request) -> Response:
        explorer = self._explorer
        k = number(request.path_params["topic"], explorer.model.release.n_topics)
        chosen, among, kept = self._filter(request)
        known = explorer.shares.known
        total = explorer.shares.n_known if among is None else int(known[among].sum())
        first = place(request, total)
        documents, shares = explorer.shares.ranked(k, first, DOCUMENTS, among)
        names, chances = explorer.model.release.vocabulary, explorer.model.release.topics[k]
        best = np.argsort(-chances, kind="stable")[:WORDS]
        words = [(names[w], chances[w], chances[w] / chances[best[0]]) for w in best]
        return self._page(
            "topic.html",
            f"Topic {k}",
            topic=k,
            words=words,
            share=explorer.shares.means[k],
            rank=int((explorer.shares.means > explorer.shares.means[k]).sum()) + 1,
            rows=self._rows(documents, shares),
            pager=Pager(first, DOCUMENTS, total, f"{self._root}/topic/{k}", kept),
            chosen=chosen,
            own=self._own_words(k),
            by=[self._by_class(column, k) for column in explorer.classes.values() if 1 < len(column) <= MANY_CLASSES],
        )

    def _own_words(self, topic: int) -> list[tuple[str, float, list[str]]]:
        """Of a cross-collection model: each collection, the share of its own words in the topic there, and these."""
        release = self._explorer.model.release
        if release.switch is None:
            return []
        best = release.collection_top_words(10).items()
        return [(str(name), float(release.switch[topic, c]), own[topic]) for c, (name, own) in enumerate(best)]

    def _by_class(self, column: Classes, topic: int) -> tuple[str, list[tuple[int, str, float, float, int]]]:
        means = self._means(column.kind, 0, len(column))[:, topic]
        order = np.argsort(-means, kind="stable")[:10]
        largest = float(means.max()) or 1.0
        return column.kind, [
            (int(c), column.names[c], float(means[c]), float(means[c]) / largest, int(column.sizes[c])) for c in order
        ]

    # --- documents ----------------------------------------------------------------------------------------------------

    def documents(self, request: Request) -> Response:
        explorer = self._explorer
        chosen, among, kept = self._filter(request)
        total = explorer.n_documents if among is None else len(among)
        first = place(request, total)
        last = min(first + DOCUMENTS, total)
        numbers = np.arange(first, last) if among is None else among[first:last]
        best = explorer.shares.table[:, numbers].max(axis=0)
        return self._page(
            "documents.html",
            "Documents",
            here="/documents",
            rows=self._rows(numbers, best, with_topic=True),
            pager=Pager(first, DOCUMENTS, total, f"{self._root}/documents", kept),
            chosen=chosen,
        )

    def find(self, request: Request) -> Response:
        """The form that asks for the number of a document."""
        asked = request.query_params.get("number", "").strip().replace(",", "")
        try:
            document = number(asked, self._explorer.n_documents)
        except HTTPException:
            most = self._explorer.n_documents - 1
            return self._page("message.html", f"Documents have numbers from 0 to {most}", status=404, again="")
        return Response(status_code=303, headers={"location": f"{self._root}/document/{document}"})

    def document(self, request: Request) -> Response:
        explorer = self._explorer
        d = number(request.path_params["document"], explorer.n_documents)
        focus = request.query_params.get("topic")
        focus_topic = None if focus is None else number(focus, explorer.model.release.n_topics)
        mixture = explorer.shares.of(d)
        order = np.argsort(-mixture, kind="stable")
        coloured = order[:COLOURS].tolist()
        if focus_topic is not None and focus_topic not in coloured:
            coloured[-1] = focus_topic
        colour = {k: place_ for place_, k in enumerate(coloured)}
        topic_of = explorer.topics_of_words(d)
        counts = Counter(explorer.model.release.vocabulary[w] for w in explorer.words(d))
        words_of: dict[int, list[tuple[str, int]]] = {}
        for word, n in counts.most_common():
            words_of.setdefault(topic_of[word], []).append((word, n))
        shown = [k for k in order.tolist() if mixture[k] >= SMALL_SHARE or k in words_of or k == focus_topic]
        rows = [
            (k, mixture[k], colour.get(k), explorer.top_words[k], words_of.get(k, [])) for k in shown if mixture[k] > 0
        ]
        text, n_characters, cut = self._text(d, whole="whole" in request.query_params)
        parts = [
            (piece.text, None if piece.word is None else topic_of.get(piece.word, -1))
            for piece in ([] if text is None else explorer.pieces(text))
        ]
        return self._page(
            "document.html",
            f"Document {d}",
            document=d,
            of_classes=self._classes_of(d),
            n_words=sum(counts.values()),
            rows=rows,
            rest=float(mixture.sum() - sum(mixture[k] for k in shown)),
            parts=parts,
            colour=colour,
            counts=[(word, n, topic_of[word]) for word, n in counts.most_common()],
            has_text=text is not None,
            n_characters=n_characters,
            cut=cut,
            focus=focus_topic,
        )

    def _text(self, document: int, *, whole: bool) -> tuple[str | list[str] | None, int, bool]:
        """The text or the part of it that is shown, the number of its characters, and whether it was cut."""
        if self._explorer.documents.texts is None:
            return None, 0, False
        text = self._explorer.documents.texts[document]
        size = len(text) if isinstance(text, str) else sum(map(len, text)) + len(text)
        if whole or size <= LONGEST_TEXT:
            return text, size, False
        return (text[:LONGEST_TEXT] if isinstance(text, str) else text[: LONGEST_TEXT // 10]), size, True

    # --- classes ------------------------------------------------------------------------------------------------------

    def classes(self, request: Request) -> Response:
        column = self._column(request.path_params["kind"])
        first = place(request, len(column))
        last = min(first + CLASSES, len(column))
        means = self._means(column.kind, first, last)
        rows = []
        for c, row in zip(range(first, last), means, strict=True):
            best = [(k, float(row[k])) for k in np.argsort(-row, kind="stable")[:4].tolist() if row[k] > 0]
            rows.append((c, column.names[c], int(column.sizes[c]), best))
        here = f"/by/{column.kind}"
        pager = Pager(first, CLASSES, len(column), f"{self._root}{here}", {})
        return self._page("classes.html", f"By {column.kind}", here=here, column=column, rows=rows, pager=pager)

    def one_class(self, request: Request) -> Response:
        column = self._column(request.path_params["kind"])
        c = number(request.path_params["number"], len(column))
        here, everywhere = self._means(column.kind, c, c + 1)[0], self._explorer.shares.means
        largest = float(max(here.max(), everywhere.max())) or 1.0
        rows = [
            (k, here[k], here[k] / largest, everywhere[k], everywhere[k] / largest, self._explorer.top_words[k][:6])
            for k in np.argsort(-here, kind="stable").tolist()
        ]
        kind = column.kind
        return self._page("class.html", f"One {kind}", column=column, number=c, rows=rows)

    # --- measures and comparison --------------------------------------------------------------------------------------

    def measures(self, request: Request) -> Response:
        models = [model for model in (self._explorer.model, self._explorer.other) if model is not None]
        found = [(model, model.measures.ask(_patience(request))) for model in models]
        waiting = any(value is None for _, value in found)
        values: dict[str, Any] = {"found": found, "waiting": waiting, "measures": MEASURES}
        return self._page("measures.html", "Measures", here="/measures", **values)

    def compare(self, request: Request) -> Response:
        explorer = self._explorer
        if explorer.other is None:
            raise HTTPException(404)
        found = explorer.comparison.ask(_patience(request))
        if found is None or isinstance(found, str):
            again = "" if found else "/compare?wait=1"
            return self._page("message.html", found or "Topics are being matched", again=again)
        by_overlap = request.query_params.get("sort") == "overlap"
        order = (
            np.argsort(-np.nan_to_num(found.overlap, nan=-1.0), kind="stable")
            if by_overlap
            else np.arange(len(found.order))
        )
        theirs = explorer.other.release.top_words(10)
        rows = []
        for k in order.tolist():
            partner = int(found.order[k])
            rows.append(
                (k, explorer.top_words[k], partner, [] if partner < 0 else theirs[partner], float(found.overlap[k]))
            )
        left = [(k, theirs[k]) for k in found.left]
        values: dict[str, Any] = {"rows": rows, "left": left, "found": found, "by_overlap": by_overlap}
        return self._page("compare.html", "Two models", here="/compare", **values)

    # --- parts --------------------------------------------------------------------------------------------------------

    def _rows(self, documents: IntArray, shares: Any, *, with_topic: bool = False) -> list[dict[str, Any]]:
        table = self._explorer.shares.table
        return [
            {
                "document": d,
                "share": float(share),
                "topic": int(table[:, d].argmax()) if with_topic and share > 0 else None,
                "classes": self._classes_of(d),
                "text": self._explorer.beginning(d, BEGINNING),
            }
            for d, share in zip(documents.tolist(), shares, strict=True)
        ]

    def _classes_of(self, document: int) -> list[tuple[str, int, str]]:
        """Column, number and name of each class that a document is in."""
        found = ((kind, int(column.codes[document]), column) for kind, column in self._explorer.classes.items())
        return [(kind, c, column.names[c]) for kind, c, column in found]

    def _column(self, kind: str) -> Classes:
        if kind not in self._explorer.classes:
            raise HTTPException(404)
        return self._explorer.classes[kind]

    def _filter(self, request: Request) -> tuple[dict[str, Any] | None, IntArray | None, dict[str, str | int]]:
        """The class that a list is limited to, its documents, and what links must keep."""
        kind = request.query_params.get("by")
        if kind is None:
            return None, None, {}
        column = self._column(kind)
        c = number(request.query_params.get("class"), len(column))
        chosen = {"kind": kind, "number": c, "name": column.names[c]}
        return chosen, column.members(c), {"by": kind, "class": c}

    def _means_of(self, kind: str, first: int, last: int) -> FloatArray:
        return self._explorer.shares.means_by(self._explorer.classes[kind].codes, np.arange(first, last))


def _patience(request: Request) -> float:
    return LONGER if "wait" in request.query_params else PATIENCE
