"""What SubsampledLDA releases about one document follows the law that is charged, over many fits.

One document, one topic: a round releases c·B + noise with c known and B = 1 with the document's rate. Kolmogorov's
distance of n = 2,000 fits passes 2.69/√n = 0.060 with chance 2·e^{−2·2.69²} = 1e-6 when the law is right. The noise is
below 0.45, so a rate that is off by 0.2 moves the law by at least 0.2·(2Φ(0.5/0.45) − 1) = 0.146, which stays below
0.060 with a chance of at most 2·e^{−2·2000·0.086²} = 3e-13.
"""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm

from discreet.corpus import Corpus, Vocabulary
from discreet.mechanisms.release import Releases
from discreet.models.subsampled import rounds as subsampled_rounds
from discreet.models.subsampled.model import SubsampledLDA

N, LIMIT = 2_000, 0.060
ALONE = Corpus(np.array([0, 0, 0, 1], np.int32), np.array([0, 4]), Vocabulary(("rain", "wind"), "public"))


def released(**options) -> tuple[np.ndarray, float]:
    """The last release of each fit along the document's direction, in units of the clip, and the noise in it."""
    seen: list[np.ndarray] = []
    real = Releases.release

    def release(releases, cells, event):
        noisy = real(releases, cells, event)
        seen.append(noisy.reshape(2) @ np.array([3, 1]) / math.sqrt(10) / event.sensitivity)
        release.noise = event.scale / event.sensitivity
        return noisy

    rounds = options["n_rounds"]
    model = SubsampledLDA(1, epsilon=24.0, clip=1.0, sampling_rate=0.5, n_threads=1, **options)
    with (
        patch.object(Releases, "release", release),
        patch.object(subsampled_rounds, "frequent_cells", lambda table, share: np.array([[True], [False]])),
    ):
        for seed in range(N):
            model.set_params(random_state=seed).fit(ALONE)
    return np.array(seen[rounds - 1 :: rounds]), release.noise


def distance(values: np.ndarray, rate: float, noise: float) -> float:
    """Kolmogorov's, from (1 − rate)·N(0, noise²) + rate·N(1, noise²)."""
    x = np.sort(values)
    law = (1 - rate) * norm.cdf(x / noise) + rate * norm.cdf((x - 1) / noise)
    at = np.arange(len(x) + 1) / len(x)
    return float(max((at[1:] - law).max(), (law - at[:-1]).max()))


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({"n_rounds": 1}, 0.5),
        ({"n_rounds": 2}, 0.5),
        ({"n_rounds": 2, "adaptive": True, "boost": 1.6}, 0.6),  # three of four tokens are frequent: 0.75 · 0.8
    ],
    ids=str,
)
def test_releases_follow_the_charged_law(options, rate):
    values, noise = released(**options)
    assert len(values) == N
    assert noise < 0.45  # the two parts of the mixture are apart, so that the rate can be seen
    assert distance(values, rate, noise) < LIMIT
    assert distance(values, rate + 0.2, noise) > LIMIT
    assert distance(values, rate - 0.2, noise) > LIMIT
