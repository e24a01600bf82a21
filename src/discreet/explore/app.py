"""The web application: every page, behind the guard."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.explore.explorer import Explorer
from discreet.explore.guard import Guard
from discreet.explore.pages import Pages, style


def create_app(explorer: Explorer, port: int) -> Guard:
    """The pages of ``explorer`` for a server on ``port``; ``address`` of the result is where they are."""
    app = Starlette()
    guard = Guard(app, port)
    pages = Pages(explorer, f"/{guard.key}")
    routes: dict[str, Any] = {
        "/": pages.topics,
        "/topic/{topic}": pages.topic,
        "/documents": pages.documents,
        "/document": pages.find,
        "/document/{document}": pages.document,
        "/by/{kind}": pages.classes,
        "/by/{kind}/{number}": pages.one_class,
        "/measures": pages.measures,
        "/compare": pages.compare,
        "/style.css": _style,
    }
    app.router.routes.extend(Route(path, page, methods=["GET"]) for path, page in routes.items())
    app.router.redirect_slashes = False
    app.add_exception_handler(404, pages.missing)
    app.add_exception_handler(Exception, pages.missing)
    return guard


def _style(request: Request) -> Response:
    return Response(style(), media_type="text/css; charset=utf-8")
