"""Rounds where large private text already lies: on the executors of a Spark cluster. Needs ``discreet[spark]``.

DataFrames and ``mapInArrow`` only: shared clusters and Spark Connect have no RDDs, accumulators or barriers. What a
guarantee rests on is in ``proof.md``.
"""

from __future__ import annotations

from discreet.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
