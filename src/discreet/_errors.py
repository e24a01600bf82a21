"""Every error that discreet raises on purpose.

    DiscreetError
    ├── InputError          (ValueError)         a file, matrix or argument that cannot be used as it is
    │   └── DataNotFound    (FileNotFoundError)  a file or data set that is not here
    ├── ReleaseError        (ValueError)         a folder that is not a release, or a damaged one
    └── WouldLeak           (ValueError)         asked for something that would reveal private data

A message is one line that says what is wrong, what was found, and what to do next. The command line prints it and
exits with code 2; nothing has been written and no budget spent.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """Base of all errors below."""


class InputError(DiscreetError, ValueError):
    """A file, matrix or argument that cannot be used as it is."""


class DataNotFound(InputError, FileNotFoundError):
    """A file or a named data set that is not on this machine."""

    def __str__(self) -> str:  # FileNotFoundError would format (errno, strerror) pairs
        return str(self.args[0]) if self.args else ""


class ReleaseError(DiscreetError, ValueError):
    """A folder that is not a release, or a damaged one."""


class WouldLeak(DiscreetError, ValueError):
    """Asked for something that would reveal private data; the message names the private way."""
