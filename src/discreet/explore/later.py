"""Work that takes long: begun when somebody first asks for it, in a thread that does not keep the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from discreet._errors import DiscreetError

T = TypeVar("T")


class Later(Generic[T]):
    """The result of ``work``, some time after the first question."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._result: T | None = None
        self._problem: str | None = None

    def ask(self, patience: float = 0.0) -> T | str | None:
        """The result; why there is none, in one line; or None while it is being computed, for which ``patience`` waits
        so many seconds."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="discreet-later")
                self._thread.start()
        self._thread.join(patience)
        return self._problem if self._problem is not None else self._result

    def _run(self) -> None:
        try:
            self._result = self._work()
        except DiscreetError as error:
            self._problem = str(error)
        except MemoryError:
            self._problem = "there is not enough memory for it."
        except BaseException as error:
            self._problem = f"it failed: {type(error).__name__}. This is a bug in discreet."
            raise
