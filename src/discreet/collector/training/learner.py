"""The model of a campaign between two windows: learnt from reports, saved, and taken up again.

A window's folder holds its Release, for everyone, and beside it ``state.npz``: the tables from which the next window
goes on. Both are computed from randomised reports, so neither is more private than these. No pickle: loading runs no
code.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from discreet._errors import InputError, ReleaseError
from discreet._files import sync_folder
from discreet.collector.campaign import Campaign
from discreet.models.local.online_local import OnlineLocalLDA
from discreet.models.local.reports import Reports
from discreet.release.release import Release

CORRELATION, BACKGROUND = 0.1, 0.3
"""λ of `OnlineLocalLDA`, and its background for each word of the vocabulary: 300 for 1,000 words (as much for 20 words
would hide every topic). The first windows teach mostly noise: with the model's own 0.5 and 30 their counts hold later
topics back. Chosen on 17,000 arXiv abstracts (1,000 words, windows of 1,000; perplexity after 16
windows, one run; word frequencies alone have 651), among these and two more settings:

λ, background    0.5, 30   0.1, 30   0.1, 300   0.05, 30   0.05, 300   0.05, 1000
ε per bit = 2    768       714       673        698        671         662
ε per bit = 3    704       650       636        634        642         654
"""


class Learner:
    """An `OnlineLocalLDA` for one campaign."""

    def __init__(self, campaign: Campaign, *, n_threads: int = 1, random_state: int | None = None) -> None:
        self.campaign = campaign
        self.model = OnlineLocalLDA(
            campaign.n_topics,
            correlation=CORRELATION,
            background=BACKGROUND * len(campaign.vocabulary),
            n_threads=n_threads,
            random_state=random_state,
        )

    def learn(self, bodies: list[bytes]) -> Release:
        """Train on the reports of one window; what may be shown afterwards."""
        about = self.campaign
        self.model.partial_fit(Reports(about.response, b"".join(bodies), about.vocabulary))  # type: ignore[arg-type]
        return self.model.release()

    def save(self, folder: Path) -> None:
        """Write the state, complete or not at all."""
        file, partial = state_file(folder), folder.with_name(f".{folder.name}.state")
        tables: dict[str, Any] = self.model.state()
        with open(partial, "wb") as out:
            np.savez(out, **tables)
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, file)
        sync_folder(file.parent)

    @classmethod
    def load(cls, campaign: Campaign, folder: Path, *, n_threads: int = 1, random_state: int | None = None) -> Learner:
        """Go on from the state that `save` left."""
        learner = cls(campaign, n_threads=n_threads, random_state=random_state)
        try:
            with open(state_file(folder), "rb") as file, np.load(file, allow_pickle=False) as found:
                tables = {name: found[name] for name in found.files}
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise ReleaseError(
                f"{state_file(folder)} cannot be read ({type(error).__name__}). Restore it from a backup."
            ) from None
        try:
            learner.model.restore(tables, campaign.vocabulary)
        except InputError as error:
            raise ReleaseError(
                f"{state_file(folder)} belongs to another campaign ({error}) Restore the right one from a backup."
            ) from None
        return learner


def state_file(folder: Path) -> Path:
    """Beside the folder of the window: a release folder holds nothing else."""
    return folder.with_name(f"{folder.name}.state.npz")
