"""Who may import whom. The table is the right-hand column of the plan of the house in docs/design.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "discreet"

LEDGE = ("_errors", "_types", "_files", "_random")

ROOMS: dict[str, tuple[str, ...]] = {
    "_errors": (),
    "_types": (),
    "_files": (),
    "_catalogue": (),
    "_svg": (),
    "_random": ("_errors", "_types", "kernels"),  # kernels only inside functions: a key may be made without numba
    "kernels": ("_types",),
    "corpus": (*LEDGE, "kernels", "privacy"),  # privacy: what a vocabulary cost
    "privacy": ("_errors", "_files"),
    "mechanisms": (*LEDGE, "privacy", "kernels"),
    "planning": (*LEDGE, "_svg", "privacy", "mechanisms"),  # mechanisms: their plans; no data, no noise
    "engines": (*LEDGE, "kernels", "corpus"),
    "evaluation": (*LEDGE, "corpus", "kernels", "engines"),  # arrays in, numbers out: it knows no model
    "release": (*LEDGE, "corpus", "privacy", "planning", "engines", "evaluation"),
    "training": (*LEDGE, "corpus", "kernels", "privacy", "mechanisms", "planning", "engines", "release"),
    "models": (
        *(*LEDGE, "corpus", "kernels", "privacy", "mechanisms", "planning"),
        *("engines", "evaluation", "release", "training"),
    ),
    "trends": (  # models: what estimators share
        *(*LEDGE, "_svg", "corpus", "privacy", "mechanisms"),
        *("engines", "release", "training", "models"),
    ),
    "attacks": (*LEDGE, "_svg", "models", "mechanisms", "privacy", "evaluation", "corpus"),
    "collector": (*LEDGE, "release", "models", "corpus", "mechanisms.local", "privacy"),
    "explore": (*LEDGE, "release", "evaluation", "corpus"),
    "report": (*LEDGE, "privacy", "mechanisms.local", "release", "evaluation", "attacks"),  # a Release, for people
}
ROOMS["experiments"] = tuple(ROOMS)
ROOMS["cli"] = ("", *ROOMS)
ROOMS["__main__"] = ("cli",)
ROOMS["__init__"] = tuple(ROOMS)

COLLECTOR: dict[str, tuple[str, ...]] = {
    "campaign": (),
    "statement": ("campaign",),
    "client": ("campaign",),  # what runs on a device needs nothing of the server
    "store": ("campaign",),
    "service": ("campaign", "statement", "store"),
    "training": ("campaign", "store"),  # taking reports and training meet in the store and nowhere else
    "serve": ("store", "service", "training"),
}
"""The rooms inside the collector."""
COLLECTOR["__init__"] = tuple(COLLECTOR)

RIVALS = {"gensim", "tomotopy", "opendp", "jax_privacy", "hypothesis", "pytest"}
"""Oracles and rivals belong to the tests."""


def files() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that ``source`` imports, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                yield node.lineno, deeper if base.startswith("discreet") and is_module(deeper) else base
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                yield node.lineno, str(node.args[0].value)


def trespasses(source: str, room: str, package: str) -> list[str]:
    """What the code of ``room`` imports and may not."""
    found = []
    for line, name in imports(source, package):
        top, _, inside = name.partition(".")
        if top in RIVALS:
            found.append(f"line {line}: {name} belongs to the tests")
        if top != "discreet" or inside.split(".")[0] == room:
            continue
        if not any(inside == allowed or (allowed and inside.startswith(f"{allowed}.")) for allowed in ROOMS[room]):
            found.append(f"line {line}: {room} may not import {name}")
    return found


def test_each_file_stays_in_its_room() -> None:
    found = {}
    for path in files():
        room, module = room_of(path), module_of(path)
        assert room in ROOMS, f"{path.relative_to(ROOT)} lies in no known room"
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        found[str(path.relative_to(ROOT))] = trespasses(path.read_text("utf-8"), room, package)
    assert len(found) > 100
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_each_file_of_the_collector_stays_in_its_room() -> None:
    found, home = [], ROOT / "collector"
    for path in sorted(home.rglob("*.py")):
        room, module = path.relative_to(home).parts[0].removesuffix(".py"), module_of(path)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for line, name in imports(path.read_text("utf-8"), package):
            parts = name.split(".")
            if parts[:2] == ["discreet", "collector"] and (parts[2:] or [""])[0] not in (room, *COLLECTOR[room]):
                found.append(f"{path.relative_to(home)}, line {line}: {room} may not import {name}")
    assert found == []


def test_one_idea_per_file() -> None:
    """Past 400 lines, ask which second idea moved in."""
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in files()}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("privacy", "import discreet.kernels.stream"),
        ("privacy", "from discreet.corpus import Corpus"),
        ("privacy", "from discreet import corpus"),
        ("privacy", "from .. import corpus"),
        ("privacy", "from ..corpus.corpus import Corpus"),
        ("privacy", "def f():\n    from discreet.release.release import Release"),
        ("privacy", "from importlib import import_module\nimport_module('discreet.models.lda')"),
        ("kernels", "from discreet._errors import InputError"),
        ("evaluation", "from discreet.release.release import Release"),
        ("models", "import discreet"),
        ("evaluation", "from discreet.models.lda import LDA"),
        ("evaluation", "from discreet.models import lda"),
        ("corpus", "import gensim"),
    ],
)
def test_the_walker_sees_trespassers(room: str, source: str) -> None:
    assert len(trespasses(source, room, f"discreet.{room}")) == 1


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("privacy", "from discreet._errors import InputError"),
        ("privacy", "from .guarantee import Guarantee"),
        ("models", "from discreet.evaluation import coherence"),
        ("report", "from discreet import release"),
        ("models", "from discreet.corpus import Corpus\nimport numpy"),
        ("cli", "import discreet"),
    ],
)
def test_the_walker_lets_residents_pass(room: str, source: str) -> None:
    assert trespasses(source, room, f"discreet.{room}") == []
