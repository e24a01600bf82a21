"""Thousands of malformed bodies, made from the OpenAPI schema and from noise: only 4xx, nothing stored, memory flat."""

from __future__ import annotations

import json
import os
import random
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.collecting import Service, text64

FOUR = {400, 401, 403, 404, 405, 409, 413, 415, 422}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
    max_leaves=20,
)
almost = st.fixed_dictionaries(
    {
        "vocabulary": st.from_regex(r"\A[0-9a-f]{64}\Z") | plain,
        "nonce": st.binary(max_size=20).map(text64) | plain,
        "bits": st.binary(max_size=4).map(text64) | plain,
    },
    optional={"word": st.text(), "text": st.text(), "__proto__": plain},
)
"""What looks like a report. Its vocabulary is never the campaign's, so none may pass."""


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(body=almost | plain | st.lists(almost | plain, max_size=4))
def test_bodies_that_look_like_reports(sqlite_service: Service, body: Any) -> None:
    answer = sqlite_service.send(json.dumps(body).encode("utf-8", "surrogatepass"))
    assert answer.status_code in FOUR
    assert sqlite_service.n_stored == 0


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(body=st.binary(max_size=300))
def test_bodies_of_noise(sqlite_service: Service, body: bytes) -> None:
    assert sqlite_service.send(body).status_code in FOUR


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    path=st.text(st.characters(codec="utf-8", exclude_characters="\\"), max_size=30),
    token=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=80),
    kind=st.sampled_from(["application/json", "text/html", "", "application/json; charset=x", "multipart/form-data"]),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
)
def test_addresses_tokens_and_types(sqlite_service: Service, path: str, token: str, kind: str, method: str) -> None:
    from urllib.parse import quote

    headers = {"authorization": f"Bearer {token}", "content-type": kind}
    for address in (f"/campaigns/{quote(path, safe='')}/reports", f"/campaigns/{quote(path, safe='')}/tokens"):
        answer = sqlite_service.http.request(method, address, headers=headers, content=b"{}")
        assert answer.status_code in FOUR
    assert sqlite_service.n_stored == 0


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    body=st.fixed_dictionaries(
        {"name": st.text(max_size=70) | plain, "vocabulary": st.lists(st.text(max_size=8), max_size=4) | plain},
        optional={"threshold": st.integers() | plain, "window_seconds": plain, "remark": plain, "n_topics": plain},
    )
)
def test_campaigns_that_are_none(sqlite_service: Service, body: Any) -> None:
    answer = sqlite_service.as_admin("POST", "/campaigns", content=json.dumps(body).encode("utf-8", "surrogatepass"))
    assert answer.status_code in FOUR  # without the header of its type: 415
    found = sqlite_service.http.post(
        "/campaigns",
        content=json.dumps(body).encode("utf-8", "surrogatepass"),
        headers={"authorization": f"Bearer {sqlite_service.admin}", "content-type": "application/json"},
    )
    assert found.status_code in FOUR


def mutated(rng: random.Random, good: bytes) -> bytes:
    """A good body with some bytes changed, cut out, doubled or swapped."""
    data = bytearray(good)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) or 1)
        kind = rng.randrange(4)
        if kind == 0 and data:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 30)]
        elif kind == 2:
            data[at:at] = data[at : at + rng.randint(1, 50)] * rng.randint(1, 20)
        else:
            data[at:at] = rng.choice([b"\\u0000", b'"', b"{", b"[" * 300, b"1e400", b"\xc3\x28", b",", b"null"])
    return bytes(data)


def flood(service: Service, n: int) -> None:
    """Mutations of a good body. One may by chance be good still (another nonce, say): then it is stored, once."""
    rng = random.Random(7)
    sizes = []
    stored = 0
    for i in range(n):
        good = json.dumps(service.report() if i % 2 else [service.report() for _ in range(3)]).encode()
        answer = service.send(mutated(rng, good))
        assert answer.status_code in FOUR | {200}
        if answer.status_code == 200:
            stored += answer.json()["accepted"]
        if i in (n // 4, n - 1):
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert service.n_stored == stored < n // 2
    assert service.app.state.parts.metrics.errors == {}
    assert sizes[1] - sizes[0] < 20_000  # kilobytes: the largest the process ever was hardly grew


def test_mutations_of_a_good_body(sqlite_service: Service) -> None:
    flood(sqlite_service, 1_000)


@pytest.mark.long
def test_ten_thousand_mutations(sqlite_service: Service) -> None:
    flood(sqlite_service, 10_000)


def test_large_and_deep_bodies_cost_little(sqlite_service: Service, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for body in (
        b"[" * 4_000_000,
        b'{"a":' * 600_000,
        b"[" + b"1," * 1_900_000 + b"1]",
        b'"' + b"a" * 4_000_000 + b'"',
    ):
        assert sqlite_service.send(body).status_code in FOUR
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    assert sqlite_service.n_stored == 0
    assert os.path.getsize(tmp_path / "reports.db") < 1_000_000
