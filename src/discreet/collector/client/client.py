"""Client: randomises text on this device and sends only the result.

>>> client = Client("https://collect.example.org", "weather", token, memory="answers.db")  # doctest: +SKIP
>>> client.report(["Rain and wind."])  # doctest: +SKIP
Sent(accepted=1, repeated=0)

The server is not trusted. The client computes ε from the threshold itself, checks that the words are those that their
hash names, refuses a campaign that changed since this device first saw it, and, with ``max_epsilon``, one that promises
too little.
"""

from __future__ import annotations

import os
import secrets
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from discreet._errors import InputError
from discreet.collector.campaign import FIELDS, NAME, Campaign
from discreet.collector.client.http import Answered, Connection
from discreet.collector.client.memory import Answer, Memory, key_of
from discreet.privacy.guarantee import Guarantee, rounded_up

NONCE_BYTES = 16
MAX_BYTES = 2 << 20
"""Of one list of reports."""
MAX_LIST = 1_000


class Sent(NamedTuple):
    """What became of some texts."""

    accepted: int
    """Reports that the server has stored, now or before."""
    repeated: int
    """Of these, how many were answers that this device had given before, about the same words."""


class Client:
    """One device's side of one campaign.

    ``memory`` is the file of its answers (see ``memory.py``); it is private. ``max_epsilon``: refuse a campaign whose ε
    for a whole text is larger.
    """

    def __init__(
        self,
        server: str,
        campaign: str,
        token: str | None = None,
        *,
        memory: str | os.PathLike[str],
        max_epsilon: float | None = None,
        connection: Connection | None = None,
    ) -> None:
        if not NAME.fullmatch(campaign):
            raise InputError(f"{campaign!r:.80} is not the name of a campaign.")
        self._http = connection or Connection(server, token)
        self._name, self._max_epsilon = campaign, max_epsilon
        self._place = f"{self._http.server}/campaigns/{quote(campaign)}"
        self._memory = Memory(memory)

    def close(self) -> None:
        self._memory.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign, fetched and checked."""
        path = f"/campaigns/{quote(self._name)}"
        shown = self._http.request("GET", path)
        if not isinstance(shown, dict):
            raise InputError("the answer of the server is not a campaign. Check its address.")
        try:
            campaign = Campaign.from_json({name: shown[name] for name in FIELDS if name in shown})
        except InputError as error:
            raise InputError(f"the server's campaign is not valid: {error}") from None
        if campaign.name != self._name or shown.get("vocabulary_hash") != campaign.vocabulary_hash:
            raise InputError("the server's campaign is not what its hash says. Nothing was sent; tell its operator.")
        if self._max_epsilon is not None and not campaign.response.epsilon_report <= self._max_epsilon:
            raise InputError(
                f"one report to this campaign has ε = {rounded_up(campaign.response.epsilon_report)}, and you allow "
                f"{self._max_epsilon:g}. Nothing was sent."
            )
        if not self._memory.pin(self._place, campaign.digest):
            raise InputError(
                "this campaign has changed since this device first saw it. To answer again about the same texts would "
                "reveal more than was promised, so nothing was sent; ask its operator for a campaign of another name."
            )
        return campaign

    @property
    def guarantees(self) -> tuple[Guarantee, Guarantee]:
        """For one word of a report, and for a whole report, computed here."""
        from discreet.models.local.promise import promises

        return promises(self.campaign.response)

    def report(self, texts: Iterable[str]) -> Sent:
        """Randomise each text, remember the answers, and send them."""
        return self.report_words([self.campaign.columns_of(text) for text in texts])

    def report_words(self, documents: Sequence[Sequence[int]]) -> Sent:
        """The same for documents as numbers of the vocabulary's words."""
        keys = [key_of(columns) for columns in documents]
        wanted = dict(zip(keys, documents, strict=True))
        answers = self._memory.answers(self._place, list(wanted))
        new = {key: columns for key, columns in wanted.items() if key not in answers}
        if new:
            drawn = dict(zip(new, self._randomised(list(new.values())), strict=True))
            answers |= self._memory.remember(self._place, drawn, self.campaign.reports_per_client)
        n_bytes = self.campaign.response.n_bytes * 4 // 3 + 150
        step = max(1, min(MAX_LIST, MAX_BYTES // n_bytes))
        waiting = list(answers)
        for first in range(0, len(waiting), step):
            some = waiting[first : first + step]
            self._send([answers[key] for key in some])
            self._memory.sent(self._place, some)
        return Sent(len(keys), len(keys) - len(new))

    def _randomised(self, documents: Sequence[Sequence[int]]) -> list[Answer]:
        sizes = [len(columns) for columns in documents]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        _ = self.guarantees  # raises if the compiled code of the flips does not give known answers
        words = np.fromiter((column for columns in documents for column in columns), np.int32, int(offsets[-1]))
        packed = self.campaign.response.randomise(words, offsets)
        return [Answer(secrets.token_bytes(NONCE_BYTES), row.tobytes(), sent=False) for row in packed]

    def _send(self, answers: Sequence[Answer]) -> None:
        body = [self.body_of(answer) for answer in answers]
        answered: Any = self._http.request("POST", f"/campaigns/{quote(self._name)}/reports", body)
        failed = answered.get("failed") if isinstance(answered, dict) else None
        if failed or not isinstance(answered, dict) or answered.get("accepted") != len(body):
            reason = str(failed[0].get("reason"))[:200] if failed else "its answer is not understood"
            raise Answered(200, "list", f"{len(failed or body)} of {len(body)} reports were not stored: {reason}")

    def body_of(self, answer: Answer) -> dict[str, str]:
        """All that leaves this device for one text."""
        return {
            "vocabulary": self.campaign.vocabulary_hash,
            "nonce": b64encode(answer.nonce).decode(),
            "bits": b64encode(answer.bits).decode(),
        }
