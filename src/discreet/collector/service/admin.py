"""The routes of operators: campaigns and tokens. All of them need an admin token."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response

from discreet.collector.campaign import DAY, Campaign
from discreet.collector.service.answers import answer
from discreet.collector.service.parts import Incoming, Parts
from discreet.collector.service.routes import described
from discreet.collector.service.wire import Refused
from discreet.collector.statement import public
from discreet.collector.store.tokens import new_token

MAX_DAYS = 3_660
MAX_LABEL = 100

_STATUSES = {
    201: "Made.",
    400: "Not JSON.",
    401: "No valid token.",
    403: "Not an admin token.",
    404: "No such campaign.",
    409: "There already.",
    413: "Too large.",
    415: "Not application/json.",
    422: "Not valid.",
    503: "The database is not available: see Retry-After.",
}
_CAMPAIGN = {
    "type": "object",
    "required": ["name", "vocabulary", "threshold"],
    "properties": {
        "name": {"type": "string"},
        "vocabulary": {"type": "array", "items": {"type": "string"}, "description": "Public words."},
        "threshold": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
    },
}
_TOKEN = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "label": {"type": "string", "maxLength": MAX_LABEL},
        "days": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_DAYS},
    },
}
_ADMIN: dict[str, Any] = {"security": [{"admin": []}]}


def admin_routes(parts: Parts) -> APIRouter:
    router = APIRouter()

    @router.get("/campaigns", summary="All campaigns.", openapi_extra=_ADMIN)
    async def campaigns(request: Request) -> Response:
        await parts.allow(Incoming(request.scope, request.receive), "admin")
        found = await asyncio.to_thread(parts.store.campaigns)
        return answer([{"name": one.campaign.name, "ended": one.ended} for one in found])

    @router.post(
        "/campaigns", summary="Make a campaign.", openapi_extra=described(_CAMPAIGN, statuses=_STATUSES) | _ADMIN
    )
    async def create(request: Request) -> Response:
        await parts.allow(Incoming(request.scope, request.receive), "admin")
        value = await parts.json(Incoming(request.scope, request.receive))
        campaign = await asyncio.to_thread(Campaign.from_json, value)
        await asyncio.to_thread(parts.store.add_campaign, campaign)
        return answer(public(campaign), 201)

    @router.post(
        "/campaigns/{name}/tokens",
        summary="Make a write token. It is shown once.",
        openapi_extra=described(_TOKEN, statuses=_STATUSES) | _ADMIN,
    )
    async def token(name: str, request: Request) -> Response:
        await parts.allow(Incoming(request.scope, request.receive), "admin")
        stored = await parts.campaign(name)
        label, days = _token_options(await parts.json(Incoming(request.scope, request.receive)))
        expires = None if days is None else int(parts.store.clock()) + days * DAY
        text, row = new_token(stored.id, label, expires)
        await asyncio.to_thread(parts.store.add_token, row)
        return answer({"token": text, "id": row.id, "expires": expires}, 201)

    @router.delete("/tokens/{token_id}", summary="Revoke a token.", openapi_extra=_ADMIN)
    async def revoke(token_id: str, request: Request) -> Response:
        await parts.allow(Incoming(request.scope, request.receive), "admin")
        if not await asyncio.to_thread(parts.store.revoke_token, token_id):
            raise Refused(404, "token", "there is no such token")
        parts.tokens.forget()
        return Response(status_code=204)

    @router.post("/campaigns/{name}/end", summary="Take no more reports.", openapi_extra=_ADMIN)
    async def end(name: str, request: Request) -> Response:
        await parts.allow(Incoming(request.scope, request.receive), "admin")
        stored = await parts.campaign(name)
        await asyncio.to_thread(parts.store.end_campaign, stored.id)
        parts.forget(name)
        return answer({"name": name, "ended": True})

    return router


def _token_options(value: Any) -> tuple[str, int | None]:
    if not isinstance(value, dict) or not value.keys() <= {"label", "days"}:
        raise Refused(422, "fields", "a token has the fields label and days, and both may be left out")
    label, days = value.get("label", ""), value.get("days", 365)
    if not isinstance(label, str) or len(label) > MAX_LABEL:
        raise Refused(422, "label", f"the label must be text of at most {MAX_LABEL} characters")
    if days is not None and (type(days) is not int or not 1 <= days <= MAX_DAYS):
        raise Refused(422, "days", f"days must be a whole number from 1 to {MAX_DAYS:,}, or null for no end")
    return label, days
