"""Rounds where large private text already lies: on the executors of a Spark cluster. Needs ``discreet[spark]``.

DataFrames and ``mapInArrow`` only: no RDDs, no accumulators, no barriers, so that shared clusters and Spark Connect will
do. What must be true for a guarantee to hold is in ``proof.md``.
"""

from __future__ import annotations

from discreet.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
