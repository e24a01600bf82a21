"""Reports as they travel: three fields, none of which has room for a word.

A report is ``{"vocabulary": …, "nonce": …, "bits": …}``: the hash of the campaign's words, 16 random bytes and the
packed bits, both in base64. A body is one report or a list of them. Any other field is refused, so that nobody can
begin to send more than that.
"""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic_core import from_json

from discreet._errors import DiscreetError
from discreet.collector.campaign import Campaign
from discreet.collector.store.bulk import NONCE_BYTES

MAX_LIST = 10_000
MAX_BODY = 4 << 20
FIELDS = frozenset({"vocabulary", "nonce", "bits"})
_NONCE_TEXT = 24  # 16 bytes in base64


class Refused(DiscreetError, ValueError):
    """A request that is not accepted: its status, a code for programs and a reason for people."""

    def __init__(self, status: int, code: str, reason: str, *, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason, self.retry_after = status, code, reason, retry_after


class Failed(NamedTuple):
    """One report of a list that was not accepted."""

    position: int
    code: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"index": self.position, "code": self.code, "reason": self.reason}


class Parsed(NamedTuple):
    """The good reports of a body, their positions in it, and the bad ones."""

    nonces: list[bytes]
    bits: list[bytes]
    positions: list[int]
    failed: list[Failed]
    is_list: bool


def parse(body: bytes, campaign: Campaign) -> Parsed:
    """Read and check a body. Raises `Refused` if nothing in it can be accepted or judged."""
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Refused(400, "json", "the body is not JSON") from None
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_LIST:
        raise Refused(413, "list", f"a list may hold {MAX_LIST:,} reports; found {len(items):,}")
    if not items:
        raise Refused(422, "list", "the list is empty")
    read = _reader(campaign)
    nonces, bits, positions, failed = [], [], [], []
    for index, item in enumerate(items):
        try:
            nonce, packed = read(item)
        except Refused as error:
            if not isinstance(value, list):
                raise
            failed.append(Failed(index, error.code, error.reason))
        else:
            nonces.append(nonce)
            bits.append(packed)
            positions.append(index)
    return Parsed(nonces, bits, positions, failed, isinstance(value, list))


def _reader(campaign: Campaign) -> Callable[[Any], tuple[bytes, bytes]]:
    """The check of one report. What is compared for each report is looked up once."""
    vocabulary, n_bytes, rest = campaign.vocabulary_hash, campaign.response.n_bytes, campaign.response.n_words % 8
    n_text = -(-n_bytes // 3) * 4

    def read(item: Any) -> tuple[bytes, bytes]:
        if type(item) is not dict or item.keys() != FIELDS:
            raise Refused(422, "fields", "a report has exactly the fields vocabulary, nonce and bits")
        if item["vocabulary"] != vocabulary:
            raise Refused(422, "vocabulary", "the report is about another vocabulary than the campaign's")
        nonce = _bytes(item["nonce"], _NONCE_TEXT, NONCE_BYTES, "nonce")
        packed = _bytes(item["bits"], n_text, n_bytes, "bits")
        if rest and packed[-1] >> rest:
            raise Refused(422, "bits", f"the last {8 - rest} bits must be zero")
        return nonce, packed

    return read


def _bytes(text: Any, n_text: int, n_bytes: int, name: str) -> bytes:
    if type(text) is str and len(text) == n_text:
        try:
            found = a2b_base64(text.encode("ascii"), strict_mode=True)
        except (Error, UnicodeEncodeError):
            found = b""
        if len(found) == n_bytes:
            return found
    raise Refused(422, name, f"{name} must be {n_bytes:,} bytes in base64: {n_text:,} characters")


def report_schema() -> dict[str, Any]:
    """A report for the OpenAPI page."""
    base64 = {"type": "string", "pattern": "^[A-Za-z0-9+/]+={0,2}$"}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(FIELDS),
        "properties": {
            "vocabulary": {
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
                "description": "SHA-256 of the campaign's words, one per line.",
            },
            "nonce": {
                **base64,
                "minLength": _NONCE_TEXT,
                "maxLength": _NONCE_TEXT,
                "description": f"{NONCE_BYTES} random bytes. The same report may be sent again; it is stored once.",
            },
            "bits": {**base64, "description": "One bit per word, randomised on the sender's device, eight to a byte."},
        },
    }


def body_schema() -> dict[str, Any]:
    report = report_schema()
    return {"oneOf": [report, {"type": "array", "items": report, "minItems": 1, "maxItems": MAX_LIST}]}
