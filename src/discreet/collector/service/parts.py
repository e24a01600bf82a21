"""What the routes share: the store, the writer, the checks, and how a request is read and refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_core import from_json
from starlette.types import Receive, Scope

from discreet.collector.service import wire
from discreet.collector.service.limits import RateLimit
from discreet.collector.service.metrics import Metrics
from discreet.collector.service.wire import Refused
from discreet.collector.service.writer import MAX_QUEUE, Writer
from discreet.collector.store.checkpoint import Checkpoints
from discreet.collector.store.store import Store, StoredCampaign
from discreet.collector.store.tokens import FRESH_SECONDS, Kind, Token, TokenCheck

BODY_SECONDS = 10.0
"""How long a sender may take for its body."""


class Incoming:
    """A request: its headers, and its body when it arrives."""

    __slots__ = ("headers", "receive")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])  # names in lower case, as ASGI has them
        self.receive = receive


class Parts:
    """The parts of one running service. ``writer`` exists between the start and the end of the event loop."""

    def __init__(
        self,
        store: Store,
        *,
        models: Path | None = None,
        training: Callable[[], bool] | None = None,
        max_queue: int = MAX_QUEUE,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.store, self.models, self.training = store, models, training
        self.max_queue, self.body_seconds = max_queue, body_seconds
        self.metrics = Metrics()
        self.limit = RateLimit()
        self.tokens = TokenCheck(store.token, store.clock)
        self._campaigns: dict[str, tuple[float, StoredCampaign]] = {}
        self._writer: Writer | None = None

    def start(self) -> None:
        self._checkpoints = Checkpoints(self.store.log)
        self._writer = Writer(self.store, self.metrics, max_queue=self.max_queue)

    async def stop(self) -> None:
        if self._writer is not None:
            await self._writer.stop()
            await asyncio.to_thread(self._checkpoints.stop)

    @property
    def writer(self) -> Writer:
        assert self._writer is not None, "the service has not been started"
        return self._writer

    # --- checks ------------------------------------------------------------------------------------------------------

    async def campaign(self, name: str) -> StoredCampaign:
        """Remembered for a few seconds: another process may end a campaign."""
        found = self._campaigns.get(name)
        now = time.monotonic()
        if found is not None and now - found[0] < FRESH_SECONDS:
            return found[1]
        known = None if found is None else found[1]
        stored = await asyncio.to_thread(self.store.campaign, name, known)
        if stored is None:
            self._campaigns.pop(name, None)
            raise Refused(404, "campaign", "there is no such campaign")
        self._campaigns[name] = (now, stored)
        return stored

    def forget(self, name: str) -> None:
        self._campaigns.pop(name, None)

    async def allow(self, request: Incoming, kind: Kind) -> Token:
        """The valid token of the request. 401: there is none; 403: it is of the other kind."""
        scheme, _, secret = request.headers.get(b"authorization", b"").partition(b" ")
        token = None
        if scheme.lower() == b"bearer" and secret.isascii():
            text = secret.decode()
            known, token = self.tokens.remembered(text)
            if not known:
                token = await asyncio.to_thread(self.tokens.look_up, text)
        if token is None:
            raise Refused(401, "token", "a valid token is needed: Authorization: Bearer TOKEN")
        if token.kind != kind:
            raise Refused(403, "token", f"this needs a token of the kind {kind!r}")
        return token

    async def body(self, request: Incoming, limit: int = wire.MAX_BODY) -> bytes:
        """The body, if it is JSON, not too large and does not come too slowly."""
        kind = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Refused(415, "type", "the content type must be application/json")
        length = request.headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > limit:
            raise _too_large(limit)
        blocks, size, more = [], 0, True
        try:
            async with asyncio.timeout(self.body_seconds):
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "disconnected", "the sender went away")
                    block = message.get("body", b"")
                    size += len(block)
                    if size > limit:
                        raise _too_large(limit)
                    blocks.append(block)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(408, "slow", f"the body did not arrive within {self.body_seconds:g} s") from None
        return b"".join(blocks)

    async def json(self, request: Incoming) -> Any:
        try:
            return from_json(await self.body(request), allow_inf_nan=False)
        except ValueError as error:
            if isinstance(error, Refused):
                raise
            raise Refused(400, "json", "the body is not JSON") from None


def _too_large(limit: int) -> Refused:
    return Refused(413, "size", f"a body may have {limit:,} bytes")
