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

from discreet._errors import ReleaseError
from discreet._files import sync_folder
from discreet.collector.campaign import Campaign
from discreet.corpus.corpus import Corpus
from discreet.models.local.online_local import OnlineLocalLDA
from discreet.models.local.reports import Reports
from discreet.release.release import Release

STATE = ("topic_counts_", "estimates_", "n_reports_", "n_batches_", "correlation_")
"""What `OnlineLocalLDA` keeps between batches."""


class Learner:
    """An `OnlineLocalLDA` for one campaign."""

    def __init__(self, campaign: Campaign, *, n_threads: int = 1, random_state: int | None = None) -> None:
        self.campaign = campaign
        self.model = OnlineLocalLDA(campaign.n_topics, n_threads=n_threads, random_state=random_state)

    def learn(self, bodies: list[bytes]) -> Release:
        """Train on the reports of one window; what may be shown afterwards."""
        about = self.campaign
        self.model.partial_fit(Reports(about.response, b"".join(bodies), about.vocabulary))  # type: ignore[arg-type]
        return self.model.release()

    def save(self, folder: Path) -> None:
        """Write the state, complete or not at all."""
        file, partial = state_file(folder), folder.with_name(f".{folder.name}.state")
        tables: dict[str, Any] = {name: np.asarray(getattr(self.model, name)) for name in STATE}
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
        model, shape = learner.model, (len(campaign.vocabulary), campaign.n_topics)
        try:
            with open(state_file(folder), "rb") as file, np.load(file, allow_pickle=False) as found:
                tables = {name: found[name] for name in STATE}
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise ReleaseError(
                f"{state_file(folder)} cannot be read ({type(error).__name__}). Restore it from a backup."
            ) from None
        if tables["topic_counts_"].shape != shape or tables["estimates_"].shape != shape[:1]:
            raise ReleaseError(
                f"{state_file(folder)} belongs to another campaign. Restore the right one from a backup."
            )
        model._read(Corpus(np.zeros(0, np.int32), np.zeros(1, np.int64), campaign.vocabulary), reset=True)
        model.topic_counts_, model.estimates_ = tables["topic_counts_"], tables["estimates_"]
        model.n_reports_, model.n_batches_ = int(tables["n_reports_"]), int(tables["n_batches_"])
        model.correlation_ = float(tables["correlation_"])
        return learner


def state_file(folder: Path) -> Path:
    """Beside the folder of the window: a release folder holds nothing else."""
    return folder.with_name(f"{folder.name}.state.npz")
