"""Answers and refusals in one shape, and what every answer carries."""

from __future__ import annotations

import json
import time
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet._errors import InputError
from discreet.collector.service.metrics import Metrics
from discreet.collector.service.wire import Refused
from discreet.collector.service.writer import QueueFull
from discreet.collector.store.store import Exists, Unavailable

RETRY_SECONDS = 2


def answer(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, separators=(",", ":")), status, media_type="application/json")


def refusal(error: Refused, metrics: Metrics) -> Response:
    """The answer to a request that is refused, counted by its reason."""
    metrics.refuse(error.code)
    response = answer({"error": {"code": error.code, "reason": error.reason}}, error.status)
    if error.retry_after is not None:
        response.headers["retry-after"] = str(error.retry_after)
    if error.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    if error.status in (408, 413):
        response.headers["connection"] = "close"  # the rest of the body is not read
    return response


def as_refused(error: Exception) -> Refused:
    """Every error that a request may meet, as a status and a reason without any value of the request."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, QueueFull):
        return Refused(429, "queue", str(error), retry_after=RETRY_SECONDS)
    if isinstance(error, Unavailable):
        return Refused(503, "database", str(error), retry_after=RETRY_SECONDS)
    if isinstance(error, Exists):
        return Refused(409, "exists", str(error))
    if isinstance(error, InputError):
        return Refused(422, "input", str(error))
    if isinstance(error, RequestValidationError):
        return Refused(422, "input", "the address or its parameters are not valid")
    if isinstance(error, HTTPException):
        return Refused(error.status_code, "http", str(error.detail))
    raise error


def refuse_with_reasons(app: FastAPI, metrics: Metrics) -> None:
    async def handle(_: Request, error: Exception) -> Response:
        return refusal(as_refused(error), metrics)

    async def unexpected(_: Request, error: Exception) -> Response:
        metrics.failure(error)
        return answer({"error": {"code": "internal", "reason": "an internal error; it was counted"}}, 500)

    for kind in (Refused, QueueFull, Unavailable, InputError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(Exception, unexpected)


class Measured:
    """Counts answers and their times, and adds the headers that every answer has."""

    HEADERS = (
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    )

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in self.HEADERS if h[0] not in there)]
                self.metrics.response(message["status"], time.perf_counter() - started)
            await send(message)

        await self.app(scope, receive, sending)
