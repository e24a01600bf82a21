"""`serve`: the pages on a port of this machine, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from discreet._errors import InputError
from discreet.explore.app import create_app
from discreet.explore.explorer import Explorer

HOST = "127.0.0.1"
"""No other address: the pages show private documents, over plain HTTP."""


def bound(port: int) -> socket.socket:
    """The port, taken and silent: one that is in use is told before anything is computed. 0: any free port."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform == "win32":
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # there, others could take it too
    else:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was closed a moment ago
    try:
        taken.bind((HOST, port))
    except OSError as error:
        taken.close()
        raise InputError(f"cannot listen on {HOST}, port {port}: {error.strerror}. Choose another --port.") from None
    return taken


def serve(
    explorer: Explorer,
    listening: socket.socket,
    *,
    browser: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Show the pages until a signal ends it."""
    guard = create_app(explorer, listening.getsockname()[1])
    config = uvicorn.Config(
        guard,
        log_level="warning",
        access_log=False,  # it would hold the key
        server_header=False,
        date_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with _stopping_in_order(server), listening:
        listening.listen()  # connections wait from now on, until the server takes them
        say(f"exploring at {guard.address}")
        say("private: computed from the documents themselves; do not publish. Ctrl-C ends it.")
        if browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=(guard.opening,), daemon=True).start()
        server.run(sockets=[listening])


@contextmanager
def _stopping_in_order(server: uvicorn.Server) -> Iterator[None]:
    """uvicorn ends on a signal, then raises it once more, which would end the process as if it had failed. A signal may
    also come before uvicorn listens to signals."""

    def stop(*_: object) -> None:
        server.should_exit = True

    ours = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT) if ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_screen() -> bool:
    """Without one, Python would start a browser for terminals, and wait for it."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
