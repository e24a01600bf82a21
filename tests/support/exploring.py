"""A small model, documents that try to break pages, and an explorer of both."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.testclient import TestClient

from discreet.corpus import read
from discreet.explore.app import create_app
from discreet.explore.documents import read_documents
from discreet.explore.explorer import Explorer
from discreet.explore.guard import Guard
from discreet.explore.serve import bound
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.release.release import Release

WORDS = ("cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind")
WEATHER, MUSIC = np.array([1, 0, 0, 0, 2, 1, 0, 1]) / 5, np.array([0, 1, 1, 2, 0, 0, 1, 0]) / 5

ATTACKS = (
    "<script>document.title='hacked'</script>",
    "\"><img src=x onerror=document.title='hacked'>",
    "'><svg onload=document.title='hacked'>",
    "</title></style></textarea><script>document.title='hacked'</script>",
    "javascript:document.title='hacked'",
    "{{ 7 * 191 }}{% raw %}${7*191}",
    "<meta http-equiv=refresh content=0;url=http://example.org/>",
    "<link rel=stylesheet href=http://example.org/x.css><base href=http://example.org/>",
    "\u202e<b>right to left</b>\x00\x1b[31m\ud800",
)
"""As a word, the name of a model or a topic, a text, a label and a user."""


def model(words: tuple[str, ...] = WORDS) -> Release:
    """Two topics, weather and music, over eight words or more."""
    extra = len(words) - 8
    topics = np.array([np.append(row, np.full(extra, 0.02 if k else 0.01)) for k, row in enumerate((WEATHER, MUSIC))])
    topics = topics + 0.001
    topics /= topics.sum(axis=1, keepdims=True)
    none = Guarantee.none(EXACT_COUNTS)
    return Release(topics, words, np.array([0.1, 0.1]), 0.01, "lda", {"n_topics": 2}, none)


def notes(path: Path, n: int = 200) -> Path:
    """Weather and music in turns, each with a number; every seventh holds no known word."""
    kinds = ("rain wind storm cloud rain", "piano violin music concert piano")
    with path.open("w") as file:
        for i in range(n):
            body = "nothing to see" if i % 7 == 3 else f"the {kinds[i % 2]} {WORDS[i % 8]} number {i}"
            file.write(json.dumps({"body": body, "kind": f"kind{i % 2}", "who": f"user{i % 60}"}) + "\n")
    return path


def explorer(
    file: Path,
    release: Release | None = None,
    other: Release | None = None,
    names: dict[int, str] | None = None,
    **columns: str,
) -> Explorer:
    """An explorer of a file, as the command opens it."""
    release = release or model()
    options = {"text": "body", "label": "kind", "group": "who", **columns}
    documents = read_documents(release, lambda: read(file, vocabulary=release.vocabulary, **options), "model")
    second = other and ("other", other)
    return Explorer.opened(documents, ("model", release), second, source=str(file), names=names)


def hostile(folder: Path) -> Explorer:
    """Every string that a page shows is an attack."""
    words = (*WORDS, *ATTACKS[:-1])
    rows = []
    for i in range(60):
        attack = ATTACKS[i % len(ATTACKS)]
        text: object = f"rain {attack} piano" if i % 2 else [*words[i % 8 :], attack]
        rows.append({"body": text, "kind": attack, "who": f"{attack}{i % 3}"})
    file = folder / "<img src=x onerror=alert(1)>.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    release = model(words)
    names = {0: ATTACKS[0], 1: ATTACKS[1]}
    documents = read_documents(
        release, lambda: read(file, text="body", label="kind", group="who", vocabulary=words), "model"
    )
    return Explorer.opened(documents, (ATTACKS[0], release), (ATTACKS[1], model()), source=file.name, names=names)


PORT = 8123


class Site:
    """The pages without a network."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.guard: Guard = create_app(explorer, PORT)
        self.http = TestClient(self.guard, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)

    def get(self, path: str = "", **options: Any) -> Any:
        return self.http.get(f"/{self.guard.key}/{path}", **options)

    def text(self, path: str = "") -> str:
        found = self.get(path)
        assert found.status_code == 200, path
        return str(found.text)


@contextmanager
def shown(found: Explorer) -> Iterator[Guard]:
    """The pages behind a real socket, in a thread of this process."""
    with bound(0) as listening:
        guard = create_app(found, listening.getsockname()[1])
        config = uvicorn.Config(guard, log_level="error", access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        listening.listen()
        thread.start()
        try:
            yield guard
        finally:
            server.should_exit = True
            thread.join(10)


def every_page(found: Explorer) -> list[str]:
    """The paths of one page of each kind, and of all that are about single classes and documents of small data."""
    paths = ["", "?sort=topic", "documents", "measures", *(f"topic/{k}" for k in range(found.model.release.n_topics))]
    paths += [f"document/{d}" for d in range(min(12, found.n_documents))]
    for kind, classes in found.classes.items():
        paths += [f"by/{kind}", *(f"by/{kind}/{c}" for c in range(min(10, len(classes))))]
        paths += [f"documents?by={kind}&class=0", f"topic/1?by={kind}&class=0"]
    return [*paths, *(["compare", "compare?sort=overlap"] if found.other else [])]
