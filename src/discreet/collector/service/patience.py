"""An HTTP protocol that does not wait for ever: a connection that has not sent its headers in time is closed.

uvicorn limits neither the time for the headers of a request nor that of a connection without one. A thousand such
connections cost a thousand open files; nothing else waits for them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's fast protocol with a time limit for headers."""

    header_seconds = HEADER_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        self._end()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
