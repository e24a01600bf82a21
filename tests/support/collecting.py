"""A collector for tests: a campaign, its tokens, reports, and a service in this process."""

from __future__ import annotations

import base64
import os
from types import TracebackType
from typing import Any

from starlette.testclient import TestClient

from discreet.collector.campaign import Campaign
from discreet.collector.service.app import create_app
from discreet.collector.store.store import Store
from discreet.collector.store.tokens import Token, new_token
from discreet.corpus.vocabulary import Vocabulary

WORDS = ("cloud", "concert", "music", "piano", "rain", "storm", "thunder", "violin", "wind", "winter")


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += seconds


def campaign(name: str = "weather", **changes: Any) -> Campaign:
    given: dict[str, Any] = {
        "vocabulary": Vocabulary(WORDS, "public"),
        "threshold": 2**30,
        "max_words": 4,
        "n_topics": 2,
    }
    return Campaign(name=name, **{**given, **changes})


def text64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def report(about: Campaign, *, nonce: bytes | None = None, bits: bytes | None = None) -> dict[str, str]:
    """A report of random bits."""
    n, rest = about.response.n_bytes, about.response.n_words % 8
    if bits is None:
        drawn = bytearray(os.urandom(n))
        drawn[-1] &= (1 << rest) - 1 if rest else 255
        bits = bytes(drawn)
    return {
        "vocabulary": about.vocabulary_hash,
        "nonce": text64(os.urandom(16) if nonce is None else nonce),
        "bits": text64(bits),
    }


class Service:
    """A service with one campaign, called without a network."""

    def __init__(self, store: Store, clock: Clock, about: Campaign | None = None, **options: Any) -> None:
        self.store, self.clock = store, clock
        self.campaign = about or campaign()
        self.id = store.add_campaign(self.campaign).id
        self.write, self.write_row = self.token()
        self.admin, _ = self.token(admin=True)
        self.app = create_app(store, **options)
        self.http = TestClient(self.app, raise_server_exceptions=False)

    def token(self, *, admin: bool = False, expires: int | None = None) -> tuple[str, Token]:
        text, row = new_token(None if admin else self.id, "test", expires)
        self.store.add_token(row)
        return text, row

    def __enter__(self) -> Service:
        self.http.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.__exit__(kind, error, at)

    def report(self, **given: bytes) -> dict[str, str]:
        return report(self.campaign, **given)

    def send(self, body: Any, token: str | None = "", **headers: str) -> Any:
        """Post a body to the campaign, with the write token unless another is given (None: no token)."""
        if token is not None:
            headers["authorization"] = f"Bearer {token or self.write}"
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        headers.setdefault("content-type", "application/json")
        return self.http.post(f"/campaigns/{self.campaign.name}/reports", headers=headers, **content)

    def as_admin(self, method: str, path: str, **options: Any) -> Any:
        return self.http.request(method, path, headers={"authorization": f"Bearer {self.admin}"}, **options)

    @property
    def n_stored(self) -> int:
        return self.store.n_reports(self.id)
