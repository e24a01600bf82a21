"""The items of one large JSON array, one by one: the array is never in memory as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.corpus.lines import LONGEST_LINE, first_line, shown, text_blocks

_BLANKS = re.compile(r"[ \t\r\n]*")


def array_items(path: Path) -> Iterator[tuple[int, Any]]:
    """Each item with its number, from 1. Objects, strings and arrays show where they end, so the pieces of the file may
    end anywhere."""
    decode = json.JSONDecoder().raw_decode
    text, number, state = "", 0, "start"
    for piece in chain(text_blocks(path), [None]):
        text, at = text + (piece or ""), 0
        while (at := _blanks_end(text, at)) < len(text):
            mark = text[at]
            if state == "start" and mark == "[":
                at, state = at + 1, "first item"
            elif state == "after item" and mark == ",":
                at, state = at + 1, "item"
            elif state in ("first item", "after item") and mark == "]":
                at, state = at + 1, "end"
            elif state in ("first item", "item"):
                try:
                    item, at = decode(text, at)
                except (ValueError, RecursionError) as error:
                    if isinstance(error, ValueError) and piece is not None and len(text) - at < LONGEST_LINE:
                        break  # the rest of the item comes with the next piece
                    what = (
                        error.msg.removesuffix(" starting at")
                        if isinstance(error, json.JSONDecodeError)
                        else first_line(error)
                    )
                    raise _broken(path, number + 1, what) from None
                number, state = number + 1, "after item"
                yield number, item
            else:
                outside = {"start": "no '[' begins the array", "end": "text follows the end of the array"}
                raise _broken(path, number + 1, outside.get(state, f"no ',' or ']' follows item {number:,}"))
        text = text[at:]
    if state != "end":
        raise InputError(f"{shown(path)} ends in the middle of its array, after item {number:,}. Is it complete?")


def _blanks_end(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _broken(path: Path, number: int, what: str) -> InputError:
    return InputError(
        f"{shown(path)}: item {number:,} is not JSON: {what}. "
        'Write an array of objects, such as [{"text": "…"}], or one object per line.'
    )
