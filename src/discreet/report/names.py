"""Names that people give to topics: a text file beside the model, one line for each topic that has a name.

    # anything after a hash sign at the beginning of a line is a remark
    0 gas contracts
    7 meetings and calendars

The numbers are those of the model and never change. The names are the writer's own words: no guarantee covers them.
"""

from __future__ import annotations

import re
from pathlib import Path

from discreet._errors import DataNotFound, InputError

LONGEST = 200
"""Characters of a name."""

_LINE = re.compile(r"\s*(\d{1,9})(?:\s*[:.\t]\s*|\s+)(\S.*?)\s*")


def beside(model: Path) -> Path:
    """Where the names of a model are looked for: a model folder itself holds nothing else."""
    return model.with_name(f"{model.name}.names.txt")


def names_for(model: Path, given: Path | None, n_topics: int) -> tuple[dict[int, str], Path | None]:
    """The names in the file that was ``given``, or else in the one beside the model, if it is there; and the file."""
    place = beside(Path(model.resolve()))
    chosen = given if given is not None else place if place.is_file() else None
    return ({} if chosen is None else read_names(chosen, n_topics)), chosen


def read_names(path: Path, n_topics: int) -> dict[int, str]:
    """Topic → name. Raises an error that names the line."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise DataNotFound(
            f"{path} is not there. Give a file with a line such as '7 meetings' for each topic."
        ) from None
    except OSError as error:
        what = "is a folder" if path.is_dir() else f"cannot be read: {error.strerror or error}"
        raise InputError(f"{path} {what}. Give a text file with a line such as '7 meetings' for each topic.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    names: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        where = f"{path}, line {number}:"
        if found is None:
            raise InputError(
                f"{where} a line must be a topic's number and its name, such as '7 meetings'; found {line!r}."
            )
        topic, name = int(found[1]), found[2]
        if topic >= n_topics:
            raise InputError(f"{where} there is no topic {topic}: the model has topics 0 to {n_topics - 1}.")
        if topic in names:
            raise InputError(f"{where} topic {topic} has a name already, {names[topic]!r}. Leave one of them out.")
        if len(name) > LONGEST:
            raise InputError(f"{where} the name has {len(name):,} characters; {LONGEST} are enough.")
        names[topic] = name
    return names
