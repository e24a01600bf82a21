"""Who may send and who may manage: 401, 403, and nothing stored."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from discreet.collector.store.tokens import FRESH_SECONDS, TokenCheck, id_of, new_token
from tests.support.collecting import Clock, Service, campaign


def test_wrong_and_missing_tokens(service: Service) -> None:
    sent = service.report()
    other = service.store.add_campaign(campaign("other"))
    text, row = new_token(other.id, "", None)
    service.store.add_token(row)
    forged = service.write[:-1] + ("A" if service.write[-1] != "A" else "B")
    for token in (None, "x", "dcw_", forged, f"dca{service.write[3:]}", "ä"):
        answer = service.http.post(
            f"/campaigns/{service.campaign.name}/reports",
            json=sent,
            headers={} if token is None else {"authorization": f"Bearer {token}".encode()},
        )
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), token
    assert service.send(sent, service.admin).status_code == 403
    assert service.send(sent, text).status_code == 403
    assert service.send(sent, None, authorization=f"Basic {service.write}").status_code == 401
    assert service.n_stored == 0
    assert service.send(sent).status_code == 200


def test_tokens_expire(service: Service) -> None:
    token, _ = service.token(expires=int(service.clock()) + 3_600)
    assert service.send(service.report(), token).status_code == 200
    service.clock.turn(3_599)
    assert service.send(service.report(), token).status_code == 200
    service.clock.turn(1)
    assert service.send(service.report(), token).status_code == 401
    assert service.n_stored == 2


def test_revoked_tokens_end_at_once_here_and_soon_elsewhere(service: Service) -> None:
    token, row = service.token()
    assert service.send(service.report(), token).status_code == 200
    assert service.as_admin("DELETE", f"/tokens/{row.id}").status_code == 204
    assert service.send(service.report(), token).status_code == 401
    token, row = service.token()
    assert service.send(service.report(), token).status_code == 200
    service.store.revoke_token(row.id)  # as another process would
    service.clock.turn(FRESH_SECONDS)
    assert service.send(service.report(), token).status_code == 401
    assert service.n_stored == 2
    assert service.as_admin("DELETE", "/tokens/0123456789abcdef").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/campaigns"),
        ("POST", "/campaigns"),
        ("POST", "/campaigns/weather/tokens"),
        ("POST", "/campaigns/weather/end"),
        ("DELETE", "/tokens/0123456789abcdef"),
    ],
)
def test_managing_needs_an_admin_token(sqlite_service: Service, method: str, path: str) -> None:
    for token, status in (("", 401), (sqlite_service.write, 403)):
        headers = {"authorization": f"Bearer {token}"}
        assert sqlite_service.http.request(method, path, headers=headers).status_code == status
    assert [one.campaign.name for one in sqlite_service.store.campaigns()] == ["weather"]
    assert not sqlite_service.store.campaigns()[0].ended


def test_campaigns_and_tokens_by_http(service: Service) -> None:
    given = {"name": "mood", "vocabulary": ["good", "bad", "tired"], "threshold": 2**29, "max_words": None}
    made = service.as_admin("POST", "/campaigns", json=given)
    assert made.status_code == 201
    assert made.json()["vocabulary"] == ["good", "bad", "tired"]
    assert service.as_admin("POST", "/campaigns", json=given).status_code == 409
    assert service.as_admin("POST", "/campaigns", json={**given, "name": "B"}).status_code == 422
    assert service.as_admin("POST", "/campaigns", json={**given, "name": "b", "threshold": 0}).status_code == 422
    assert service.as_admin("POST", "/campaigns", json=[]).status_code == 422
    names = service.as_admin("GET", "/campaigns").json()
    assert names == [{"name": "weather", "ended": False}, {"name": "mood", "ended": False}]
    made = service.as_admin("POST", "/campaigns/mood/tokens", json={"label": "phones", "days": 2})
    assert made.status_code == 201
    assert made.json()["expires"] == int(service.clock()) + 2 * 86_400
    assert id_of(made.json()["token"]) == made.json()["id"]
    token = service.store.token(made.json()["id"])
    assert token is not None
    assert (token.kind, token.label) == ("write", "phones")
    for wrong in ({"days": 0}, {"days": True}, {"label": 5}, {"label": "x" * 101}, {"who": "me"}, []):
        assert service.as_admin("POST", "/campaigns/mood/tokens", json=wrong).status_code == 422
    forever = service.as_admin("POST", "/campaigns/mood/tokens", json={"days": None}).json()
    assert forever["expires"] is None
    assert service.as_admin("POST", "/campaigns/none/tokens", json={}).status_code == 404


def test_secrets_are_not_stored_and_not_logged(
    tmp_path: Path, sqlite_service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = sqlite_service.as_admin("POST", "/campaigns/weather/tokens", json={}).json()
    sqlite_service.send(sqlite_service.report(), made["token"])
    sqlite_service.send({"broken": 1}, made["token"])
    secrets = [token.rsplit("_", 1)[-1] for token in (made["token"], sqlite_service.admin)]
    for secret in secrets:
        assert secret not in caplog.text
    sqlite_service.store.close()
    connection = sqlite3.connect(tmp_path / "reports.db")
    dump = "\n".join(connection.iterdump())
    connection.close()
    assert made["id"] in dump
    for secret in secrets:
        assert secret not in dump
        assert secret.encode().hex() not in dump.lower()


def test_the_check_remembers_and_forgets() -> None:
    asked = []
    clock = Clock()
    text, row = new_token(1, "", None)

    def lookup(token_id: str):
        asked.append(token_id)
        return row if token_id == row.id else None

    check = TokenCheck(lookup, clock)
    assert check.remembered(text) == (False, None)
    assert check.look_up(text) == row
    assert check.remembered(text) == (True, row)
    assert check.remembered(text[:-1] + ("A" if text[-1] != "A" else "B")) == (True, None)
    clock.turn(FRESH_SECONDS)
    assert check.remembered(text) == (False, None)
    assert asked == [row.id]
    for i in range(10_050):
        check.look_up(f"dcw_{i:016x}_{'A' * 43}")
    assert len(check._known) == 10_000
