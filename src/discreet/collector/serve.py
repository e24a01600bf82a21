"""`serve`: a collector in a folder, which is a server and a training process beside it."""

from __future__ import annotations

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from discreet._errors import InputError
from discreet.collector.service.app import create_app
from discreet.collector.store.folder import ADMIN_TOKEN, Folder
from discreet.collector.store.store import Store
from discreet.collector.training.child import Training

BACKLOG = 4096
SWITCH_SECONDS = 0.001
"""How long Python lets one thread run while another waits: the writer must not wait 5 ms, the default, for each
turn."""


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
            gc.collect()
            gc.freeze()  # what was made so far stays: no collection goes through it again while requests wait
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
        from discreet.collector.service.patience import PatientProtocol
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
