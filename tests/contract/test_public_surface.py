"""The public names are a list, and using the package costs only what is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import discreet

PUBLIC = {
    "AdaptedLDA",
    "Budget",
    "BudgetExceeded",
    "BudgetFile",
    "Corpus",
    "CrossLBLA",
    "CrossLDA",
    "DataNotFound",
    "DiscreetError",
    "Guarantee",
    "HybridCrossLBLA",
    "HybridLDA",
    "InherentPrivacyMonitor",
    "InputError",
    "LBLA",
    "LDA",
    "LaplaceCrossLBLA",
    "LaplaceLDA",
    "Ledger",
    "LocalLDA",
    "OnlineLDA",
    "OnlineLocalLDA",
    "PrivateCrossLDA",
    "PrivateLDA",
    "Plan",
    "PrivateTrends",
    "PrivateVectorizer",
    "RelatedWordsMonitor",
    "Release",
    "Reports",
    "ReleaseError",
    "SpectralLDA",
    "SubsampledLDA",
    "Trends",
    "VariationalLDA",
    "Vocabulary",
    "WouldLeak",
    "datasets",
    "fit_text",
    "plan",
    "read",
    "word_list",
}
HEAVY = {"numba", "numpy", "pandas", "polars", "pooch", "rich", "scipy", "sklearn", "typer"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running ``code``."""
    script = f"{code}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_exactly_the_listed_ones() -> None:
    assert set(discreet.__all__) == PUBLIC
    assert set(dir(discreet)) == PUBLIC | {"__version__"}
    assert len(discreet.__all__) == len(PUBLIC)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_name_is_there(name: str) -> None:
    value = getattr(discreet, name)
    assert value is getattr(discreet, name)
    if isinstance(value, type):
        assert value.__name__ == name
        assert value.__module__.startswith("discreet.")


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert discreet.__version__ == version("discreet")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'PrivacyForFree'"):
        _ = discreet.PrivacyForFree


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_by("import discreet") & HEAVY == set()


def test_errors_and_guarantees_load_nothing_heavy() -> None:
    assert loaded_by("from discreet import BudgetFile, Guarantee, InputError, Ledger") & HEAVY == set()


def test_the_list_of_commands_loads_typer_and_nothing_else_heavy() -> None:
    assert loaded_by("import discreet.cli.app") & HEAVY == {"typer"}
