"""The routes of senders: one to send reports to, and those that say whether the server is well."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet._errors import DiscreetError
from discreet.collector.service import wire
from discreet.collector.service.answers import RETRY_SECONDS, answer, as_refused, refusal
from discreet.collector.service.parts import Incoming, Parts
from discreet.collector.service.wire import Failed, Refused
from discreet.collector.statement import public
from discreet.collector.store.bulk import Batch
from discreet.collector.store.store import Unavailable

_REPORTS = re.compile(r"/campaigns/([^/]+)/reports")
_CONFLICT = "this nonce is stored with other bits"

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "reason"],
            "properties": {"code": {"type": "string"}, "reason": {"type": "string"}},
        }
    },
}


def described(body: dict[str, Any] | None, *, statuses: dict[int, str]) -> dict[str, Any]:
    """For the OpenAPI page: bodies are read and checked by our own code, so the schema is given by hand."""
    shown: dict[str, Any] = {
        "responses": {
            str(status): {
                "description": about,
                **({"content": {"application/json": {"schema": ERROR}}} if status >= 400 else {}),
            }
            for status, about in statuses.items()
        }
    }
    if body is not None:
        shown["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return shown


async def take_reports(parts: Parts, name: str, request: Incoming) -> Response:
    """Check the token and the reports, store those that are good, and say which were not."""
    token = await parts.allow(request, "write")
    stored = await parts.campaign(name)
    if token.campaign_id != stored.id:
        raise Refused(403, "token", "this token is for another campaign")
    if stored.ended:
        raise Refused(410, "ended", "the campaign has ended and takes no more reports")
    parsed = wire.parse(await parts.body(request), stored.campaign)
    n = len(parsed.nonces)
    if n == 0:
        return _listed(parts, 0, parsed.failed)
    wait = parts.limit.take(token.id, n, stored.campaign.reports_per_minute)
    if wait:
        raise Refused(429, "rate", "too many reports with this token", retry_after=wait)
    conflicts = await parts.writer.store(Batch(stored.id, parsed.nonces, parsed.bits))
    if not parsed.is_list:
        if conflicts:
            raise Refused(409, "nonce", _CONFLICT)
        return _ONE
    clashes = [Failed(parsed.positions[i], "nonce", _CONFLICT) for i in conflicts]
    return _listed(parts, n - len(clashes), sorted(parsed.failed + clashes))


def _listed(parts: Parts, accepted: int, failed: list[Failed]) -> Response:
    for one in failed:
        parts.metrics.refuse(one.code)
    shown = {"accepted": accepted, "failed": [one.to_json() for one in failed]}
    return answer(shown, 200 if accepted else 422)


class ShortCut:
    """Takes reports without the framework around a route, which costs more than all checks of a report together.

    It does what the route of the same address does; the route is there for the OpenAPI page, and for requests that come
    with an Origin header, to which the framework adds its own.
    """

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        self.app, self.parts = app, parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            found = _REPORTS.fullmatch(scope["path"])
            incoming = Incoming(scope, receive)
            if found and b"origin" not in incoming.headers:
                try:
                    response = await take_reports(self.parts, found[1], incoming)
                except DiscreetError as error:
                    response = refusal(as_refused(error), self.parts.metrics)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


def sender_routes(parts: Parts) -> APIRouter:
    router = APIRouter()
    statuses = {
        200: "Stored durably; of a list, those that are not in `failed`.",
        400: "Not JSON.",
        401: "No valid token.",
        403: "The token is for something else.",
        408: "The body came too slowly.",
        409: "The nonce is stored with other bits.",
        410: "The campaign has ended.",
        413: "Too large.",
        415: "Not application/json.",
        422: "No report could be accepted.",
        429: "Too many reports: see Retry-After.",
        503: "The database is not available: see Retry-After.",
    }

    @router.post(
        "/campaigns/{name}/reports",
        summary="Send one randomised report, or a list of them.",
        openapi_extra=described(wire.body_schema(), statuses=statuses) | {"security": [{"write": []}]},
    )
    async def receive(name: str, request: Request) -> Response:
        return await take_reports(parts, name, Incoming(request.scope, request.receive))

    @router.get(
        "/campaigns/{name}",
        summary="What a client must know.",
        openapi_extra={
            "responses": {
                "404": {"description": "No such campaign.", "content": {"application/json": {"schema": ERROR}}}
            }
        },
    )
    async def campaign(name: str) -> Response:
        stored = await parts.campaign(name)
        return answer({**public(stored.campaign), "ended": stored.ended})

    @router.get("/healthz", summary="Can the server take reports?")
    async def health() -> Response:
        problems = []
        if not parts.writer.alive:
            problems.append("the writer has stopped")
        try:
            await asyncio.wait_for(asyncio.to_thread(parts.store.probe), timeout=5)
        except (Unavailable, TimeoutError):
            problems.append("the database is not available")
        if parts.training is not None and not parts.training():
            problems.append("the training process does not run")
        response = answer({"ok": not problems, "problems": problems}, 503 if problems else 200)
        if problems:
            response.headers["retry-after"] = str(RETRY_SECONDS)
        return response

    @router.get("/metrics", summary="For Prometheus.")
    async def metrics() -> Response:
        text = parts.metrics.text(
            waiting=parts.writer.waiting,
            available=parts.writer.available,
            training=None if parts.training is None else parts.training(),
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    return router


_ONE = answer({"accepted": 1, "failed": []})
