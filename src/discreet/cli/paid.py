"""Keep what was paid for, despite Ctrl-C or a full disk, and print what was charged."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet._errors import BudgetExceeded, InputError, ReleaseError
from discreet.cli import Kept, show

if TYPE_CHECKING:
    from discreet.privacy.budget import BudgetFile
    from discreet.release.release import Release


class Paid:
    """What a budget file, if there is one, has been charged since this was made."""

    def __init__(self, file: BudgetFile | None) -> None:
        self._file = file
        self._before = 0 if file is None else len(file.charges())

    def __str__(self) -> str:
        """A sentence, or nothing without a budget file."""
        if self._file is None:
            return ""
        with suppress(InputError, OSError):  # if the file was moved meanwhile, the first error must still be shown
            if len(self._file.charges()) == self._before:
                return f" {self._file.path} has not been charged."
            spent = self._file.ledger().spent().epsilon
            return (
                f" {self._file.path} has been charged: ε = {spent:.4g} of {self._file.budget.epsilon:g} is spent now."
            )
        return f" See `discreet budget {self._file.path}` for what has been charged."


@contextmanager
def stoppable(checkpoint: Path | None, paid: Paid, lost: str = "no model was written.") -> Iterator[None]:
    """Ctrl-C with a checkpoint is a pause; without one nothing is kept (``lost``). In both cases the note says what was
    charged."""
    from discreet.training.pause import Paused, finishing

    try:
        with finishing("round", wanted=checkpoint is not None):
            yield
    except KeyboardInterrupt as stop:
        if checkpoint is None or not checkpoint.exists():
            if not str(paid):
                raise
            kept = lost
        elif isinstance(stop, Paused):
            kept = (
                f"the run is kept in {checkpoint} (private). The same command resumes it; nothing is repeated "
                "or charged again."
            )
        else:
            kept = (
                f"the run is kept in {checkpoint} (private). The same command resumes it, and is charged again "
                "for the rounds since it was last saved."
            )
        show.note(f"interrupted: {kept}{paid}")
        raise Kept from None
    except BudgetExceeded as error:
        if checkpoint is None or not checkpoint.exists():
            raise
        raise BudgetExceeded(
            f"{error} The run in {checkpoint} cannot be resumed, because rounds that were lost must be charged again. "
            "Remove that folder and train anew with a smaller --epsilon; what was spent stays spent.",
            entry=error.entry,
            spent=error.spent,
            budget=error.budget,
        ) from None


def check_space(output: Path, needed: int) -> None:
    """Before anything is charged. ``needed`` are bytes."""
    free = shutil.disk_usage(output.absolute().parent).free
    if free < needed:
        raise ReleaseError(
            f"{output} cannot be written: its disk has {free:,} bytes left, and a model needs about {needed:,}. Make "
            "room, or choose another place."
        )


def save(release: Release, output: Path, *, overwrite: bool, paid: Paid) -> ReleaseError | None:
    """Write the model with `write_or_keep`."""
    return write_or_keep(lambda path: release.save(path, overwrite=overwrite), output, "The model", paid)


def write_or_keep(write: Callable[[Path], object], output: Path, what: str, paid: Paid) -> ReleaseError | None:
    """Write where it was asked for or, if that fails, wherever there is room; the error that says where it is, if
    any."""
    try:
        write(output)
    except (ReleaseError, InputError, OSError) as error:
        for parent in (tempfile.gettempdir(), Path.cwd(), os.path.expanduser("~")):
            with suppress(ReleaseError, InputError, OSError):
                return ReleaseError(
                    f"{error} {what} is complete: it is in {_kept(write, Path(parent), output.name)}. Move it where "
                    f"you want it.{paid}"
                )
        raise ReleaseError(f"{error} {what} is lost.{paid}") from None
    return None


def _kept(write: Callable[[Path], object], parent: Path, name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="discreet-", dir=parent))
    try:
        write(folder / name)
    except BaseException:
        folder.rmdir()
        raise
    return folder / name
