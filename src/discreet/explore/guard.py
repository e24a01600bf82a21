"""Who may see the pages: whoever has the address that was printed, on this machine, and nobody through a foreign site.

* The *key*, 256 random bits, is the first part of every path. No cookie: a browser sends those of 127.0.0.1 to every
  port, so another server on this machine would get them.
* The *ticket* leads to the key, once. It is what a browser is started with, because everyone on a machine can read the
  arguments of a process.
* Only the names 127.0.0.1 and localhost are answered: a foreign name that was made to point here (DNS rebinding) is
  refused.
* No page runs a script, loads anything from elsewhere, is framed, kept in a cache or named in a referrer.
"""

from __future__ import annotations

import secrets

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
)
OPEN = "open"

UNKNOWN = "This address is not known. Use the one that `discreet explore` printed.\n"
USED = "This link works once. Use the address that `discreet explore` printed.\n"
ELSEWHERE = "Only http://127.0.0.1 is answered here, with the port that `discreet explore` printed.\n"


class Guard:
    """Answers only those who know the key, and hands on their requests without it."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.key, self._ticket = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._hosts = frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
        self.address = f"http://127.0.0.1:{port}/{self.key}/"
        self.opening = f"http://127.0.0.1:{port}/{OPEN}/{self._ticket}"
        """Leads to ``address``, once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in HEADERS}
                message["headers"] = [*(h for h in message["headers"] if h[0] not in ours), *HEADERS]
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        inside = scope["path"][len(self.key) + 1 :]
        await self.app({**scope, "path": inside, "raw_path": inside.encode()}, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer in place of a page, or None."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse(ELSEWHERE, 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Pages can only be read.\n", 405, {"allow": "GET, HEAD"})
        first, slash, rest = scope["path"].removeprefix("/").partition("/")
        if first == OPEN and slash:
            return self._let_in(scope, rest)
        if not _same(first, self.key):
            return PlainTextResponse(UNKNOWN, 403)
        return None if slash else RedirectResponse(f"/{self.key}/", 303)

    def _let_in(self, scope: Scope, ticket: str) -> Response:
        fetched_ahead = any(name == b"sec-purpose" for name, _ in scope["headers"])  # nobody has looked yet
        if scope["method"] != "GET" or fetched_ahead or not self._ticket or not _same(ticket, self._ticket):
            return PlainTextResponse(USED, 403)
        self._ticket = ""
        return RedirectResponse(f"/{self.key}/", 303)


def _same(given: str, secret: str) -> bool:
    """In a time that does not tell how much of it was right."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
