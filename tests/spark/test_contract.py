"""The contract of engines (``tests/contract/test_engines.py``), through Spark; and the same bits as threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import InputError, PrivateLDA, Vocabulary, engines
from discreet._random import Key
from discreet.corpus import lda_corpus
from discreet.engines.spark import SparkEngine
from discreet.engines.spark import units as spark_units
from tests.contract import test_engines as contract

USERS = np.arange(60) // 4


class Once:
    """Opens an engine once for the same documents and the same seed: that it keeps nothing is tested by itself."""

    def __init__(self, engine: SparkEngine) -> None:
        self._engine, self._open = engine, {}

    def __getattr__(self, opening: str) -> Any:
        def opened(corpus: Any, groups: Any, *given: Any, **options: Any) -> Any:
            what = (opening, corpus.words.tobytes(), corpus.n_documents, groups is None, given[-1].words.tobytes())
            if what not in self._open:
                self._open[what] = getattr(self._engine, opening)(corpus, groups, *given, **options)
            return self._open[what]

        return opened


@pytest.fixture(scope="module")
def backend(spark, tmp_path_factory):
    return Once(SparkEngine(spark, str(tmp_path_factory.mktemp("shards")), partitions=2))


@pytest.mark.parametrize("opening", ["open_units", "open_variational_units"])
def test_contract_of_rounds(backend, opening):
    contract.test_an_engine_has_the_members_of_its_protocol(backend, opening)
    contract.test_rounds_keep_nothing(backend, opening)
    contract.test_who_takes_part_is_decided_by_coins(backend, opening, None)
    contract.test_a_unit_that_is_not_there_changes_nothing_else(backend, opening)


def test_contract_of_sums(backend):
    contract.test_an_engine_has_the_members_of_its_protocol(backend, "open_proportions")
    contract.test_a_round_is_the_sum_of_its_units(backend, "open_units", USERS, 1)
    contract.test_sums_over_all_units(backend, USERS)
    contract.test_sums_over_all_units(backend, None)
    contract.test_expected_counts_are_all_tokens_of_those_who_take_part(backend)


@pytest.mark.parametrize("opening", ["open_units", "open_variational_units", "open_proportions"])
@pytest.mark.parametrize("users", [None, USERS], ids=["documents", "users"])
def test_an_engine_answers_as_threads_do(backend, opening, users):
    """Every answer, to the bit."""
    here, there = (contract.answers(contract.opened(where, opening, users=users)) for where in (engines, backend))
    for a, b in zip(here, there, strict=True):
        assert_array_equal(a, b)


def corpus(n: int = 120) -> Any:
    found = lda_corpus(n, 20, 3, mean_length=12, seed=4).corpus
    return replace(found, vocabulary=Vocabulary([f"word{chr(97 + i)}" for i in range(20)], "public"))


def short(**options: Any) -> PrivateLDA:
    return PrivateLDA(3, **{"epsilon": 8.0, "n_rounds": 4, "random_state": 3, "sampling_rate": 0.4, **options})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("partitions", [1, 3, 16])
def test_a_seed_gives_the_bits_of_threads(spark, tmp_path, partitions, monkeypatch):
    """However documents are divided, and in shards of a few tokens as in one."""
    monkeypatch.setattr("discreet.engines.spark.shards.TOKENS", {1: 10**6, 3: 100, 16: 1}[partitions])
    placed = short(engine=SparkEngine(spark, str(tmp_path), partitions=partitions))
    users = np.arange(120) // 2
    there, here = placed.fit(corpus(), groups=users), short().fit(corpus(), groups=users)
    assert_array_equal(there.components_, here.components_)
    assert there.ledger_.entries == here.ledger_.entries
    assert list(tmp_path.iterdir()) == []  # nothing is left


def test_without_a_seed_executors_never_see_the_key_of_the_noise(engine, monkeypatch):
    """They get one of their own; with it, they draw what threads would draw with it."""
    from pyspark import cloudpickle

    sent, real, other = [], spark_units.summed, Key.from_seed(77)
    fresh = Key(np.arange(8, dtype=np.uint32) + 2**31, seeded=False)
    monkeypatch.setattr(spark_units, "summed", lambda *job: (sent.append(cloudpickle.dumps(job[2])), real(*job))[1])
    monkeypatch.setattr(Key, "fresh", classmethod(lambda kind: Key(other.words, seeded=False)))
    opened = engine.open_units(contract.documents(), None, contract.K, fresh, max_tokens=30)
    threads = engines.open_units(contract.documents(), None, contract.K, other, max_tokens=30)
    half = contract.ALWAYS // 2
    assert_array_equal(contract.one_round(opened, half), contract.one_round(threads, half))
    assert opened.key is fresh  # of the noise
    assert sent
    assert not any(fresh.words.tobytes() in task for task in sent)
    assert all(other.words.tobytes() in task for task in sent)
    opened.close()


def test_shards_that_are_lost_or_there_twice_are_seen(engine):
    """Whoever changes the files under a run gets an error, and no sum."""
    import shutil
    from pathlib import Path

    opened = engine.open_units(contract.documents(), None, contract.K, Key.from_seed(1), max_tokens=30)
    opened._table.unpersist()
    file = max(Path(opened._shards.path).glob("*.parquet"), key=lambda path: path.stat().st_size)  # some are empty
    copy = file.with_name("part-again.parquet")
    shutil.copy(file, copy)
    opened._table = opened._shards.table()
    with pytest.raises(InputError, match="lost shards, or read some twice"):
        contract.one_round(opened)
    with pytest.raises(InputError, match=r"some shards to .* twice"):
        opened._shards.renumbered(np.arange(contract.N_WORDS, dtype=np.int32))
    copy.unlink()
    file.unlink()
    opened._table = opened._shards.table()
    with pytest.raises(InputError, match="lost shards, or read some twice"):
        contract.one_round(opened)
    opened.close()
