"""One unit with far more tokens than anybody else must not end a private fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import LDA, AdaptedLDA, PrivateLDA, SpectralLDA, SubsampledLDA, VariationalLDA
from discreet._errors import InputError
from discreet.corpus import lda_corpus
from tests.support.spending import hopeless

HUGE = 2_000_000_000
"""As tokens, 8 GB; as counts, two cells."""

PUBLIC = LDA(2, n_sweeps=5, random_state=0).fit(lda_corpus(40, 30, 2, seed=7).corpus)

MODELS = {
    "private": PrivateLDA(2, epsilon=2.0, n_rounds=3, max_tokens=500),
    "adapted": AdaptedLDA(2, epsilon=2.0, public=PUBLIC, max_tokens=500),
    "subsampled": SubsampledLDA(2, epsilon=2.0, n_rounds=3, max_tokens=500),
    "variational": VariationalLDA(2, epsilon=2.0, n_rounds=3, max_tokens=500),
    "spectral": SpectralLDA(2, epsilon=2.0, fewer_topics=True, max_tokens=500),
}


@pytest.fixture(scope="module")
def counts():
    """The third document is huge."""
    drawn = lda_corpus(40, 30, 3, mean_length=20, seed=1).corpus.to_counts().tolil()
    drawn[3, :] = 0
    drawn[3, :2] = [3 * HUGE // 4, HUGE // 4]
    return sp.csr_matrix(drawn)


@hopeless
@pytest.mark.filterwarnings("ignore:0 of 2 topics", "ignore:1 of 2 topics", "ignore:the tensor decomposition")
@pytest.mark.parametrize("users", [None, [0] * 20 + list(range(1, 21))], ids=["documents", "users"])
@pytest.mark.parametrize("name", MODELS)
def test_one_huge_unit_does_not_stop_a_private_fit(counts, name, users):
    """Before, the row was expanded to 8 GB of tokens ahead of the cap."""
    MODELS[name].fit(counts, groups=users)
    assert MODELS[name].guarantee_.basis == "proven"


@pytest.mark.parametrize(("cap", "kept"), [(500, [6_000, 2_000]), (2**24, [3 * 2**22, 2**22])])
def test_what_is_left_to_the_cap(counts, cap, kept):
    read = MODELS["private"]._read(counts, reset=True, max_tokens=cap)
    assert read.to_counts()[3].toarray()[0, :2].tolist() == kept
    others = np.arange(40) != 3
    np.testing.assert_array_equal(read.to_counts()[others].toarray(), counts[others].toarray())


def test_models_without_a_cap_say_what_is_wrong(counts):
    for model in (SpectralLDA(2), VariationalLDA(2), SubsampledLDA(2, as_published=True, round_epsilon=1.0)):
        with pytest.raises(InputError, match=r"row 3 holds 2,000,000,000 tokens, .* 16,777,216"):
            model.fit(counts)
