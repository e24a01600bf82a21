"""Tokens: who may send reports to a campaign, and who may make campaigns.

A token is an id and a secret of 256 random bits. The database holds the id and the SHA-256 of the secret: with so many
random bits a slow hash would add nothing. Secrets are compared in constant time, shown once when they are made, and
written to no log.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, NamedTuple

Kind = Literal["write", "admin"]

_FORM = re.compile(r"dc([wa])_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = bytes(32)
FRESH_SECONDS = 5.0
"""How long a looked-up token is used again: so long a token that another process revoked still works."""
REMEMBERED = 10_000


class Token(NamedTuple):
    """A token as the database holds it. ``campaign_id`` is None for an admin token."""

    id: str
    digest: bytes
    campaign_id: int | None
    label: str
    expires: int | None
    revoked: bool

    @property
    def kind(self) -> Kind:
        return "admin" if self.campaign_id is None else "write"


def new_token(campaign_id: int | None, label: str, expires: int | None) -> tuple[str, Token]:
    """The text to hand over, once, and the row to store."""
    token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    letter = "a" if campaign_id is None else "w"
    digest = hashlib.sha256(secret.encode()).digest()
    return f"dc{letter}_{token_id}_{secret}", Token(token_id, digest, campaign_id, label, expires, revoked=False)


def id_of(text: str) -> str | None:
    """The part of a token that is no secret."""
    found = _FORM.fullmatch(text)
    return found[2] if found else None


class TokenCheck:
    """Looks tokens up, and remembers them for a few seconds: a request must not cost a query."""

    def __init__(self, lookup: Callable[[str], Token | None], clock: Callable[[], float]) -> None:
        self._lookup, self._clock = lookup, clock
        self._known: OrderedDict[str, tuple[float, Token | None]] = OrderedDict()

    def remembered(self, text: str) -> tuple[bool, Token | None]:
        """Whether the answer is known without asking the database, and the answer. None: no valid token."""
        found = _FORM.fullmatch(text)
        if not found:
            return True, None
        known = self._known.get(found[2])
        if known is None or not 0 <= self._clock() - known[0] < FRESH_SECONDS:
            return False, None
        return True, self._valid(known[1], found[1], found[3])

    def look_up(self, text: str) -> Token | None:
        """The same with a query. It waits for the database: call it in a thread."""
        found = _FORM.fullmatch(text)
        if not found:
            return None
        token = self._lookup(found[2])
        self._known[found[2]] = (self._clock(), token)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return self._valid(token, found[1], found[3])

    def forget(self) -> None:
        self._known.clear()

    def _valid(self, token: Token | None, letter: str, secret: str) -> Token | None:
        """The secret is hashed and compared also for an unknown id: both take the same time."""
        digest = hashlib.sha256(secret.encode()).digest()
        right = hmac.compare_digest(digest, _NOBODY if token is None else token.digest)
        if token is None or not right or token.revoked or token.kind[0] != letter:
            return None
        if token.expires is not None and self._clock() >= token.expires:
            return None
        return token
