"""Processes of their own: a cluster whose workers are killed, and a fit that is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from tests.spark.test_contract import corpus
from tests.support.spark_cluster import models

ROOT = Path(__file__).parents[2]


def python(*arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "ignore", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, text=True, **streams)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", models())
def test_workers_may_be_killed(tmp_path, kind):
    """A stand-alone cluster of two workers, one of them killed after the second and after the fourth round: the bits
    are those of threads."""
    process = python("-m", "tests.support.spark_cluster", str(tmp_path), kind)
    said, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors[-3000:]
    assert said.count("killed a worker") == 2
    found = np.frombuffer(bytes.fromhex(said.split()[-1])).reshape(3, 20)
    assert_array_equal(found, models()[kind]().fit(corpus()).components_)
    assert list((tmp_path / "shards").iterdir()) == []


INTERRUPTED = """
import sys, threading, time
from pathlib import Path
from tests.spark.test_contract import SparkEngine, corpus, short
from tests.support.spark import session
spark = session()
def after(info):
    print("round", info.sweep, flush=True)
try:
    engine = SparkEngine(spark, sys.argv[1], partitions=2)
    short(n_rounds=1000, engine=engine, callbacks=[after]).fit(corpus())
except KeyboardInterrupt:
    for _ in range(600):  # a cancelled job takes a moment to end
        if not spark.sparkContext.statusTracker().getActiveJobsIds():
            break
        time.sleep(0.1)
    jobs = len(spark.sparkContext.statusTracker().getActiveJobsIds())
    print("jobs", jobs, "shards", len(list(Path(sys.argv[1]).iterdir())), flush=True)
"""


def test_an_interrupted_fit_leaves_no_job_and_no_shard(tmp_path):
    process = python("-c", INTERRUPTED, str(tmp_path))
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("round 2"):
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=300)
    assert "jobs 0 shards 0" in said, errors[-3000:]
