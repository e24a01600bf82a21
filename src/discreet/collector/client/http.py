"""HTTP for clients, with the standard library alone: JSON in and out, patience where the server asks for it."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from discreet._errors import DiscreetError, InputError

MAX_ANSWER = 32 << 20
MAX_WAIT = 60.0
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class NotReached(DiscreetError, ConnectionError):
    """The collector did not answer, or asked to come back later too often. What was to be sent may be sent again."""


class Answered(DiscreetError, ValueError):
    """The collector refused. ``status`` and ``code`` are for programs."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(f"the collector refused ({status}): {reason}.")
        self.status, self.code = status, code


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token must not follow a redirect to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def checked_server(server: str) -> str:
    """The address of a collector without a slash at its end. Plain HTTP only to this machine."""
    parts = urlsplit(server) if isinstance(server, str) else urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise InputError("the server must be an address such as https://collect.example.org.")
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        raise InputError(
            "this address begins with http://, so tokens and reports would travel in the clear. Use https://; only a "
            "server on this machine may go without."
        )
    return server.rstrip("/")


class Connection:
    """Requests to one collector."""

    def __init__(
        self,
        server: str,
        token: str | None = None,
        *,
        attempts: int = 6,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server, self._token = checked_server(server), token
        self._attempts, self._timeout, self._sleep = attempts, timeout, sleep
        self._open = urllib.request.build_opener(_NoRedirects).open

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of the answer. 429, 503 and a lost connection are tried again, after the time that was asked for."""
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        why = ""
        for attempt in range(self._attempts):
            request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)
            wait = min(0.5 * 2**attempt, MAX_WAIT)
            try:
                with self._open(request, timeout=self._timeout) as answer:
                    return _json(answer.read(MAX_ANSWER))
            except urllib.error.HTTPError as error:
                with error:
                    refused = _refusal(error.code, error.read(MAX_ANSWER))
                    asked = error.headers.get("Retry-After", "")
                if error.code not in (429, 503):
                    raise refused from None
                why = str(refused)
                wait = max(wait, min(float(asked), MAX_WAIT)) if asked.isdecimal() else wait
            except (OSError, http.client.HTTPException) as error:
                why = f"{type(error).__name__}"
            if attempt + 1 < self._attempts:
                self._sleep(wait)
        raise NotReached(
            f"{self.server} could not be reached in {self._attempts} attempts ({why}). Try again later: what was sent "
            "before is not stored twice."
        )


def _json(data: bytes) -> Any:
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Answered(200, "json", "its answer is not JSON, so it is no collector") from None


def _refusal(status: int, data: bytes) -> Answered:
    try:
        found = json.loads(data)
        if isinstance(found, dict) and "failed" in found:  # a list of which no report was accepted
            return Answered(status, "list", str(found["failed"][0]["reason"])[:200])
        error = found["error"]
        return Answered(status, str(error["code"])[:40], str(error["reason"])[:200])
    except (ValueError, LookupError, TypeError, RecursionError):
        return Answered(status, "http", "no reason was given")
