"""The web service: a factory that is given its parts.

TLS is left to a proxy in front (see docs/collector.md): tokens and reports must not travel in the clear, and this
server speaks plain HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware

from discreet.collector.service.admin import admin_routes
from discreet.collector.service.answers import Measured, refuse_with_reasons
from discreet.collector.service.pages import page_routes
from discreet.collector.service.parts import BODY_SECONDS, Parts
from discreet.collector.service.routes import ShortCut, sender_routes
from discreet.collector.service.writer import MAX_QUEUE
from discreet.collector.store.store import Store


def create_app(
    store: Store,
    *,
    models: Path | None = None,
    training: Callable[[], bool] | None = None,
    max_queue: int = MAX_QUEUE,
    body_seconds: float = BODY_SECONDS,
) -> FastAPI:
    """``models``: the folder where the training process leaves its releases. ``training``: says whether it runs."""
    parts = Parts(store, models=models, training=training, max_queue=max_queue, body_seconds=body_seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        parts.start()
        try:
            yield
        finally:
            await parts.stop()

    # No pages that load scripts from elsewhere: /docs and /redoc do.
    app = FastAPI(title="discreet collector", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.parts = parts
    app.include_router(sender_routes(parts))
    app.include_router(admin_routes(parts))
    app.include_router(page_routes(parts))
    refuse_with_reasons(app, parts.metrics)
    # Tokens travel in a header and never in a cookie, so a page of any origin may send the reports of its visitors.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
    )
    app.add_middleware(ShortCut, parts=parts)
    app.add_middleware(Measured, metrics=parts.metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        bearer = {"type": "http", "scheme": "bearer"}
        schema.setdefault("components", {})["securitySchemes"] = {"write": bearer, "admin": bearer}
        app.openapi_schema = schema
    return app.openapi_schema
