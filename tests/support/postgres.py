"""A PostgreSQL server of our own on a loopback port, started and stopped by the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, or None where PostgreSQL is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    for folder in [*folders, *([Path(found).parent] if found else [])]:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Server:
    """A cluster in a folder of its own. PostgreSQL refuses to run as root, so as root it runs as nobody."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self.folder, self.bin, self.port = folder, bin_folder, free_port()

    def run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command: Sequence[str] = [str(self.bin / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "nobody", "--", *command]
        with open(self.folder / "out", "w+") as out:  # not a pipe: the server that pg_ctl starts would hold it open
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=self.folder, timeout=60
            )
            out.seek(0)
            assert not check or done.returncode == 0, f"{program}: {out.read()}"
        return done

    def create(self) -> None:
        self.run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "discreet", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -p {self.port}"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-o", options, "-w", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop", check=False)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://discreet@127.0.0.1:{self.port}/{database}"

    def new_database(self, name: str) -> str:
        self.run("psql", self.url(), "-q", "-c", f'CREATE DATABASE "{name}"')
        return self.url(name)


@contextmanager
def running() -> Iterator[Server]:
    """Start a server, and stop it whatever happens."""
    bin_folder = programs()
    assert bin_folder is not None
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    server = Server(folder, bin_folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
