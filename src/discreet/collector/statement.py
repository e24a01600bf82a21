"""The privacy statement of a campaign: computed from its numbers, never typed by an operator."""

from __future__ import annotations

import math
from typing import Any

from discreet.collector.campaign import Campaign
from discreet.privacy.guarantee import rounded_up


def noise(campaign: Campaign) -> dict[str, Any]:
    """How much randomness is in one report and in one window, for people who want to judge the topics."""
    response = campaign.response
    return {
        "flip_probability": response.flip,
        "f": response.f,
        "epsilon_bit": response.epsilon_bit,
        "epsilon_word": response.epsilon_word,
        "epsilon_report": response.epsilon_report,
        "epsilon_client": campaign.reports_per_client * response.epsilon_report,
        "false_bits_per_report": response.flip * response.n_words,
        "standard_error_of_a_word_count": math.sqrt(response.variance(campaign.window_reports)),
    }


def headline(campaign: Campaign) -> str:
    """Both numbers in one line, the larger first: nobody should see the small one alone."""
    response = campaign.response
    whole, word = rounded_up(response.epsilon_report, 3), rounded_up(response.epsilon_word, 3)
    return (
        f"ε = {whole} for a whole report, ε = {word} for one word of it ({rounded_up(response.epsilon_bit, 3)} per bit)"
    )


def statement(campaign: Campaign) -> list[str]:
    """What is promised to a person whose device reports, sentence by sentence, the limits as plainly as the promise."""
    response = campaign.response
    word, report = rounded_up(response.epsilon_word, 3), rounded_up(response.epsilon_report, 3)
    total = f"{math.ceil(campaign.reports_per_client * response.epsilon_report):,}"
    cap = ""
    if response.capped:
        cap = f"A report is about at most {response.max_words} of your words, chosen at random if there are more. "
    return [
        f"Your text stays on your device. What is sent is one bit for each of {response.n_words:,} public words, and "
        f"each bit is flipped at random with probability {response.flip:.4g} before it leaves.",
        f"{cap}For one word of your text this is differential privacy with ε = {word}; for the whole text ε = "
        f"{report}. It holds against the server and everyone who reads its database, and needs no trust in them.",
        f"A large ε for a whole text means that someone who compares the report with two given texts can often tell "
        f"which one it was. The protection is in each word: a set bit is no proof of the word, and a clear bit none of "
        f"its absence (ε = {rounded_up(response.epsilon_bit, 3)} per bit).",
        f"Reports about different texts add up. A device reports at most {campaign.reports_per_client:,} texts: ε = "
        f"{total} for all of them together, if the server can tell that they come from you.",
        "The same text always gets the same random answer, so repeating it gives nothing more away about the text. But "
        "a repeated answer is a pseudonym: whoever sees it twice knows that it is the same device and the same words.",
        "Not hidden: that your device reported, when, and from which network address. The server stores neither "
        "address nor token with a report, and the time only to the minute.",
        f"Reports are deleted {campaign.retention_days} days after they arrived, once they were trained on. The topics "
        "made of them remain.",
    ]


def public(campaign: Campaign) -> dict[str, Any]:
    """What anyone may read of a campaign, and what clients need."""
    return {
        **campaign.to_json(),
        "vocabulary_hash": campaign.vocabulary_hash,
        "digest": campaign.digest,
        "noise": noise(campaign),
        "statement": statement(campaign),
    }
