"""These tests record what engines and kernels are given, and break them: the self-tests of the models come before."""

from __future__ import annotations

import pytest

from discreet import HybridLDA, PrivateLDA, PrivateVectorizer, SpectralLDA, SubsampledLDA, VariationalLDA
from discreet.training import self_test


@pytest.fixture(autouse=True, scope="session")
def self_tests_have_passed() -> None:
    for model in (HybridLDA, PrivateLDA, PrivateVectorizer, SpectralLDA, SubsampledLDA, VariationalLDA):
        self_test.check(model()._self_tests)
    self_test.check(SpectralLDA(configuration=1)._self_tests)
