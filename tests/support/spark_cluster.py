"""A stand-alone cluster of Spark on this machine: a master and workers, each a process of its own that can be killed.

``python -m tests.support.spark_cluster FOLDER MODEL`` trains on it while workers die, and prints what became of that:
one process can have one Spark, so tests run this in another.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.spark import ROOT, session


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Cluster:
    """Two workers with one core each. An executor dies with its worker."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._folder, self._home = folder, Path(pyspark.__file__).parent
        port = free_port()
        self.address = f"spark://127.0.0.1:{port}"
        web = ["--webui-port", str(free_port())]
        self._master = self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), *web)
        _wait_for(port)
        self.workers = [self._worker() for _ in range(2)]

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": paths}
        environment |= {"SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable}
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
        log = (self._folder / f"{name}.log").open("ab")
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def _worker(self) -> subprocess.Popen[bytes]:
        options = ["--cores", "1", "--memory", "600m", "--work-dir", str(self._folder / "work")]
        web = ["--webui-port", str(free_port())]
        return self._start("worker.Worker", "--host", "127.0.0.1", *options, *web, self.address)

    def kill_one(self) -> None:
        """The oldest worker is killed, and another takes its place."""
        oldest = self.workers.pop(0)
        oldest.kill()
        oldest.wait()
        self.workers.append(self._worker())

    def close(self) -> None:
        for process in [*self.workers, self._master]:
            process.terminate()
        for process in [*self.workers, self._master]:
            process.wait()


def _wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the master of Spark did not start")


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.close()


def models() -> dict[str, Any]:
    """Seeded fits of six passes or rounds; of LDA, topics are kept between these."""
    from discreet import LDA
    from tests.spark.test_contract import short

    passes = partial(LDA, 3, n_sweeps=6, n_average=2, random_state=3)
    return {
        "private": partial(short, n_rounds=6),
        "sampled": partial(passes, algorithm="sampled"),
        "collapsed": partial(passes, algorithm="collapsed"),
    }


def train(folder: Path, kind: str, killed_after: tuple[int, ...]) -> Any:
    """Topics of a seeded fit during which a worker is killed after some of its rounds."""
    from tests.spark.test_contract import SparkEngine, corpus

    with running(folder) as cluster:
        settings = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2"}
        spark = session(cluster.address, **settings)

        def after(info: Any) -> None:
            if info.sweep in killed_after:
                cluster.kill_one()
                print("killed a worker after round", info.sweep)

        engine = SparkEngine(spark, str(folder / "shards"), partitions=4)
        model = models()[kind](engine=engine, callbacks=[after]).fit(corpus())
        spark.stop()
        return model.components_


if __name__ == "__main__":
    found = train(Path(sys.argv[1]), sys.argv[2], (2, 4))
    print("topics", found.tobytes().hex())
