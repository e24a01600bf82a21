"""What is given away holds what it must, and installs in a fresh environment of every Python that we claim.

Long, because packages are downloaded and kernels compiled: minutes for each Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
COMPILED = {".nbc", ".nbi", ".pyc"}

pytestmark = pytest.mark.long

TINY_FIT = """
import warnings
from importlib.resources import files

from discreet import AdaptedLDA, PrivateLDA, fit_text

warnings.simplefilter("ignore")  # so few documents make no useful topics
texts = ["rain wind storm cloud", "piano violin concert opera"] * 400
model = fit_text(PrivateLDA(n_topics=2, epsilon=8, n_rounds=5), texts)
print(model.guarantee_.summary())
adapted = fit_text(AdaptedLDA(public="english", epsilon=4), texts)
print(adapted.guarantee_.reasons)
print((files("discreet.collector.service") / "web").is_dir())
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    return folder


def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def test_the_wheel_holds_the_whole_package_and_nothing_else(dist: Path) -> None:
    package = ROOT / "src" / "discreet"
    there = {path for path in package.rglob("*") if path.is_file() and path.suffix not in COMPILED}
    with zipfile.ZipFile(wheel(dist)) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        notes = {name.partition("/")[2] for name in archive.namelist() if ".dist-info/" in name}
    assert held == {f"discreet/{path.relative_to(package).as_posix()}" for path in there}
    assert {"METADATA", "licenses/LICENSE", "entry_points.txt"} <= notes
    # The set above is as good as the tree that it is made of; these must be in it:
    needed = ("py.typed", "models/english.npz", "planning/measured.csv", "models/private/proof.md")
    assert {f"discreet/{name}" for name in needed} <= held
    assert any(name.startswith("discreet/collector/service/web/") and name.endswith(".js") for name in held)


def test_the_source_archive_can_be_built_and_read(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert {"src/discreet/py.typed", "src/discreet/models/english.npz"} <= names


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: on the path, or one of pyenv's."""
    candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for candidate in filter(None, candidates):
        asked = subprocess.run([candidate, "-c", "import venv"], check=False, capture_output=True)
        if asked.returncode == 0:
            return str(candidate)
    return None


def test_the_pythons_that_we_claim_begin_with_the_one_that_we_require() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert len(PYTHONS) >= 1


@pytest.mark.parametrize("version", PYTHONS)
def test_it_installs_and_runs_in_a_fresh_environment(version: str, dist: Path, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    fresh = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it would show our sources

    def printed(*command: str | Path) -> str:
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=fresh)
        return done.stdout

    printed(programs / "python", "-m", "pip", "install", "--disable-pip-version-check", f"{wheel(dist)}[collector]")
    assert printed(programs / "discreet", "--version") == f"discreet {PROJECT['version']}\n"
    assert "serve" in printed(programs / "discreet", "collect", "--help")
    lines = printed(programs / "python", "-c", TINY_FIT).splitlines()
    assert lines[0].startswith("ε = 7.9")
    assert lines[0].endswith("for one document (add-remove), seen by the statistics observer: proven")
    assert "the model of English that comes with the package" in lines[1]
    assert lines[2] == "True"
