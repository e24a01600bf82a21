"""A collector in a folder: the database, the releases, the admin token, the server and its training process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn

from discreet._errors import InputError
from discreet._files import sync_folder, try_lock
from discreet.collector.engine import sqlite_url
from discreet.collector.service import create_app
from discreet.collector.store import Store
from discreet.collector.tokens import new_token

DATABASE, MODELS, ADMIN_TOKEN = "reports.db", "models", "admin-token"
BACKLOG = 4096
PARENT = "DISCREET_COLLECTOR_PID"
"""The server that a training process belongs to: it ends when that server is gone."""
SWITCH_SECONDS = 0.001
"""How long Python lets one thread run while another waits: the writer must not wait 5 ms, the default, for each
turn."""


class Folder:
    """Where a collector keeps its things. With PostgreSQL, ``database`` is its URL; the rest stays in the folder."""

    def __init__(self, path: str | os.PathLike[str], database: str | None = None) -> None:
        self.path = Path(path)
        self.database = database or sqlite_url(self.path / DATABASE)

    @property
    def models(self) -> Path:
        return self.path / MODELS

    def make(self) -> None:
        for folder in (self.path, self.models):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Only one server and one training process at a time; the lock goes with the process."""
        descriptor = os.open(self.path / f"{what}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if not try_lock(descriptor):
                raise InputError(f"another process runs 'discreet collect {what}' in {self.path}. Stop it first.")
            yield
        finally:
            os.close(descriptor)

    def ensure_admin(self, store: Store) -> bool:
        """Make the first admin token and leave it in a file that only the owner may read. Returns whether it was
        made."""
        if store.has_admin():
            return False
        text, row = new_token(None, "first admin token", None)
        file = self.path / ADMIN_TOKEN
        with suppress(FileNotFoundError):
            file.unlink()
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(f"{text}\n")
            out.flush()
            os.fsync(out.fileno())
        sync_folder(self.path)
        store.add_token(row)
        return True


class Training:
    """The training process as a child, started again when it ends: a crash there must not end the server."""

    def __init__(self, folder: Folder) -> None:
        self._command = [sys.executable, "-m", "discreet", "collect", "train", str(folder.path)]
        # not on the command line, where every user of the machine could read the password
        self._environment = {**os.environ, "DISCREET_DATABASE": folder.database, PARENT: str(os.getpid())}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="collector-training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join(timeout=30)

    def _watch(self) -> None:
        pause = 1.0
        while not self._stopping.is_set():
            started = time.monotonic()
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            while self._process.poll() is None:
                if self._stopping.wait(0.2):
                    self._process.terminate()
                    with suppress(subprocess.TimeoutExpired):
                        self._process.wait(20)
                    self._process.kill()
            pause = 1.0 if time.monotonic() - started > 60 else min(2 * pause, 60.0)
            self._stopping.wait(pause)


def serve(
    folder: Folder, *, host: str, port: int, training: bool = True, say: Callable[[str], None] = lambda line: None
) -> None:
    """Run until a signal ends it. What was acknowledged is on disk, however it ends."""
    folder.make()
    with folder.alone("serve"):
        store = Store(folder.database, create=True)
        if folder.ensure_admin(store):
            say(f"wrote the admin token to {folder.path / ADMIN_TOKEN}; keep it secret")
        child = Training(folder) if training else None
        app = create_app(store, models=folder.models, training=child.alive if child else None)
        config = uvicorn.Config(
            app,
            http=_protocol(),
            log_level="warning",
            access_log=False,  # an access log would keep addresses and times of senders
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=15,
        )
        listening = _listen(host, port)
        server = uvicorn.Server(config)
        sys.setswitchinterval(SWITCH_SECONDS)
        _stop_in_order(server)
        _allow_many_files()
        try:
            if child:
                child.start()
            address = f"[{host}]" if ":" in host else host
            say(f"listening on http://{address}:{listening.getsockname()[1]}")
            server.run(sockets=[listening])
        finally:
            if child:
                child.stop()
            listening.close()
            store.close()


def _stop_in_order(server: uvicorn.Server) -> None:
    """uvicorn ends on a signal, then raises it once more: by default that would end the process before its child. A
    signal may also come before uvicorn listens to signals."""

    def stop(*_: object) -> None:
        server.should_exit = True

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)


def _protocol() -> str | type:
    try:
        from discreet.collector.patience import PatientProtocol
    except ImportError:  # httptools is not there for every platform
        return "auto"
    return PatientProtocol


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # connections wait from now on, until the server takes them
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}. Choose another --port.") from None
    return listening


def _allow_many_files() -> None:
    """Every connection is an open file, and the usual limit is 1,024."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536) if hard > 0 else 65_536, hard))
