"""The pages that people see, the module for browsers, and the topics behind the live page."""

from __future__ import annotations

import asyncio
import time
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response

from discreet.collector.service.answers import answer
from discreet.collector.service.parts import Parts
from discreet.collector.service.wire import Refused
from discreet.collector.statement import noise, statement
from discreet.collector.store import windows
from discreet.collector.store.store import StoredCampaign
from discreet.release.release import Release

KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
N_WORDS = 10
SHOWN_SECONDS = 2.0
"""Topics are computed at most this often, however many people look at them."""


@cache
def _file(name: str) -> bytes:
    return files("discreet.collector.service").joinpath("web", name).read_bytes()


STATIC = ("client.js", "live.js", "style.css", "try.js")


def page_routes(parts: Parts) -> APIRouter:
    router = APIRouter()
    topics = Topics(parts)

    def page(name: str) -> Response:
        kind = KINDS[Path(name).suffix]
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
        return Response(_file(name), media_type=f"{kind}; charset=utf-8", headers=headers)

    @router.get("/static/{file}", include_in_schema=False)
    async def static(file: str) -> Response:
        if file not in STATIC:
            raise Refused(404, "file", "there is no such file")
        response = page(file)
        response.headers["access-control-allow-origin"] = "*"  # pages of other origins may import client.js
        return response

    @router.get("/campaigns/{name}/try", include_in_schema=False)
    async def try_page(name: str) -> Response:
        await parts.campaign(name)
        return page("try.html")

    @router.get("/campaigns/{name}/live", include_in_schema=False)
    async def live_page(name: str) -> Response:
        await parts.campaign(name)
        return page("live.html")

    @router.get("/campaigns/{name}/topics", summary="The topics so far, and what is promised about them.")
    async def shown_topics(name: str) -> Response:
        return answer(await topics.of(await parts.campaign(name)))

    return router


class Topics:
    """The newest release of each campaign, read again when the training process has left a newer one."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._shown: dict[int, tuple[float, dict[str, Any]]] = {}
        self._learnt: dict[int, tuple[int, dict[str, Any]]] = {}
        self._locks: dict[int, asyncio.Lock] = {}

    async def of(self, stored: StoredCampaign) -> dict[str, Any]:
        async with self._locks.setdefault(stored.id, asyncio.Lock()):
            found = self._shown.get(stored.id)
            if found is None or time.monotonic() - found[0] >= SHOWN_SECONDS:
                found = time.monotonic(), await asyncio.to_thread(self._read, stored)
                self._shown[stored.id] = found
        return found[1] | {"ended": stored.ended}

    def _read(self, stored: StoredCampaign) -> dict[str, Any]:
        campaign, counts = stored.campaign, windows.counts(self._parts.store, stored.id)
        known = self._learnt.get(stored.id)
        if counts.windows_trained and (known is None or known[0] != counts.windows_trained):
            known = counts.windows_trained, self._learn(campaign.name, counts.windows_trained)
            self._learnt[stored.id] = known
        learnt = known[1] if known else {"topics": [], "guarantee": None}
        return {
            "campaign": campaign.name,
            "window": counts.windows_trained,
            "reports": {"received": counts.received, "trained": counts.trained},
            **learnt,
            "noise": noise(campaign),
            "statement": statement(campaign),
            "remark": campaign.remark,
        }

    def _learn(self, name: str, window: int) -> dict[str, Any]:
        assert self._parts.models is not None
        release = Release.load(windows.window_folder(self._parts.models, name, window))
        rows = zip(release.top_words(N_WORDS), release.topics, strict=True)
        best = [
            [
                {"word": word, "probability": round(float(p), 6)}
                for word, p in zip(words, sorted(row)[::-1], strict=False)
            ]
            for words, row in rows
        ]
        shares = [None] * len(best) if release.topic_shares is None else [float(s) for s in release.topic_shares]
        shown = [{"share": share, "words": words} for share, words in zip(shares, best, strict=True)]
        return {"topics": shown, "guarantee": release.guarantee.summary()}
