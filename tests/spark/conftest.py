"""One session for all tests of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import spark as support


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if (reason := support.missing()) is not None:
        pytest.skip(f"no Spark: {reason}")
    found = support.session()
    yield found
    found.stop()


@pytest.fixture
def engine(spark: Any, tmp_path: Any) -> Any:
    from discreet.engines.spark import SparkEngine

    return SparkEngine(spark, str(tmp_path / "shards"), partitions=3)
