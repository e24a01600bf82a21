"""The command line: parse, call one library function, print.

This file catches every error. What a command raises on purpose becomes one line on stderr and exit code 2; a traceback
means a bug in discreet.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from discreet._errors import DiscreetError, either

BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 1


class Kept(BaseException):
    """Interrupted; the command has already printed what it keeps."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (the caller may have closed it: `>&-`)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot print ε must not lose the result
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except Kept:
        return INTERRUPTED
    except KeyboardInterrupt:
        code = INTERRUPTED
    except DiscreetError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter prints an error at exit
        return BROKEN_PIPE
    except MemoryError:
        return _refuse("there is not enough memory. Try fewer topics, fewer words (--max-words) or fewer documents.")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}. Check the place and its permissions, and try again.")
    if code == INTERRUPTED:
        print("interrupted: nothing was written", file=sys.stderr)
    return code


def _run(arguments: list[str]) -> int:
    """Parse and call. Typer's own errors (unknown option, missing argument) are printed in our form."""
    import typer

    from discreet.cli.app import app

    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments or ["--help"], prog_name="discreet", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "discreet"
        from discreet.cli.wording import bad_value

        text = _unknown_option(error) or _missing_command(error) or bad_value(error.format_message().rstrip())
        return _refuse(f"{text}{'' if text.endswith(('.', '?')) else '.'} See '{path} --help'.")
    return code if isinstance(code, int) else 0


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """One line without the place in the code, for the user at the terminal."""
    from discreet.cli.wording import in_options

    print(f"warning: {in_options(str(message))}", file=sys.stderr)


def _unknown_option(error: Any) -> str | None:
    """The message for an unknown option, with the most similar known one."""
    name = getattr(error, "option_name", None)
    if name is None or not hasattr(error, "possibilities") or error.ctx is None:
        return None
    import difflib

    there = [option for parameter in error.ctx.command.params for option in parameter.opts if option.startswith("--")]
    names = [option.strip("-") for option in there]
    begun = [one for one in names if one.startswith(name.strip("-"))]
    near = begun[:1] or difflib.get_close_matches(name.strip("-"), names, n=1)
    return f"No such option: {name}.{f' Did you mean --{near[0]}?' if near else ''}"


def _missing_command(error: Any) -> str | None:
    """The message for a group of commands without one, with all that it has."""
    context = getattr(error, "ctx", None)
    if context is None or not error.format_message().startswith("Missing command"):
        return None
    return f"Missing command: {either(context.command.list_commands(context))}."


def _refuse(message: str) -> int:
    """One line, whatever the message holds: names of files and words come from outside."""
    from discreet.cli.wording import in_options

    message = in_options(message)
    line = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
    print(f"discreet: {line}", file=sys.stderr)
    return BAD_INPUT
