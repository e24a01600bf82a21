"""Compiled kernels on disk: never older than their sources, in a place that can be written, and not without end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

import discreet
from discreet.cli import main
from discreet.kernels import cache
from discreet.kernels.compile import kernel
from discreet.kernels.noise.draws import add_noise
from discreet.kernels.sums.moments import add_directions
from discreet.kernels.sums.word_weights import add_weights

ROOT = Path(discreet.__file__).parent

LENGTH = """
import numpy as np
from discreet.kernels.sweeps.slots import aligned
from discreet.kernels.sums.variational import add_variational, variational_scratch

words, unit = np.zeros(500, np.int32), np.array([0, 1])
row, nothing, out = aligned(16, np.float32), aligned(16, np.float32), aligned(16, np.uint32)
row[0] = 1
scratch = variational_scratch(1, 16, 1, np.float32)
tables = row, row, row, nothing
add_variational(words, np.array([0, 500]), unit, unit[:1], 0, 1, 1, 1, *tables, 10.0, *scratch, out)
print(np.linalg.norm(out.view(np.int32)))
"""
"""The length of the contribution of a document of 500 tokens, whose clip is 10."""


def run(sources: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a new process that imports from ``sources`` and caches where it would by itself."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code],
        env={**inherited, "PYTHONPATH": str(sources), **variables},
        capture_output=True,
        text=True,
        cwd=sources,
    )
    assert done.returncode == 0, done.stderr
    return done


def copied(tmp_path: Path) -> Path:
    shutil.copytree(ROOT, tmp_path / "src" / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src"


def test_a_fixed_part_runs_again_in_kernels_of_other_files(tmp_path):
    """``add_clipped`` of residuals.py is part of the kernel of variational.py. It is broken, used once, and restored
    with an older time, as a package manager may do."""
    sources = copied(tmp_path)
    changed = sources / "discreet" / "kernels" / "sums" / "residuals.py"
    right, then = changed.read_text("utf-8"), changed.stat()
    broken = right.replace("norm > clip", "norm > clip * 50").replace("<= limit:", "<= 2500 * limit:")
    assert broken != right
    changed.write_text(broken, "utf-8")
    assert float(run(sources, LENGTH).stdout) == 500
    changed.write_text(right, "utf-8")
    os.utime(changed, (then.st_atime - 3600, then.st_mtime - 3600))
    assert float(run(sources, LENGTH).stdout) == 10


@pytest.mark.parametrize("name", ["compile.py", "noise/tables.py"])
def test_every_source_is_part_of_the_digest(tmp_path, monkeypatch, name):
    monkeypatch.setattr(cache, "SOURCES", copied(tmp_path) / "discreet" / "kernels")
    before = cache.digest_of_sources()
    assert before == cache.digest_of_sources()
    with (cache.SOURCES / name).open("a") as file:
        file.write("# another version\n")
    assert cache.digest_of_sources() != before


@pytest.mark.parametrize("library", [cache.numba, cache.llvmlite])
def test_the_compiler_is_part_of_the_digest(monkeypatch, library):
    before = cache.digest_of_sources()
    monkeypatch.setattr(library, "__version__", "0.0")
    assert cache.digest_of_sources() != before


def test_the_processor_is_part_of_the_digest(monkeypatch):
    before = cache.digest_of_sources()
    monkeypatch.setattr(cache.llvm, "get_host_cpu_name", lambda: "another")
    assert cache.digest_of_sources() != before


@pytest.mark.parametrize("compiled", [add_noise, add_directions, add_weights], ids=lambda one: one.__name__)
def test_numba_keeps_kernels_in_the_folder_of_the_digest(compiled):
    """Fails when numba no longer reads ``config.CACHE_DIR`` as a function is decorated. Kernels would then not be
    cached at all, which is slow and not wrong (`is_kept_in`)."""
    assert cache.FOLDER is not None
    assert cache.is_kept_in(compiled, cache.FOLDER)


def test_the_setting_of_numba_is_given_back():
    before = cache.numba.config.CACHE_DIR
    with cache.folder_for_numba() as folder:
        assert str(folder) == cache.numba.config.CACHE_DIR != before
    assert before == cache.numba.config.CACHE_DIR


def test_nothing_is_kept_where_another_setting_of_numba_wins(monkeypatch):
    """numba would stamp the file of the function only."""
    monkeypatch.setattr(cache.numba.config, "CACHE_LOCATOR_CLASSES", "InTreeCacheLocator", raising=False)
    assert kernel(hypotenuse).stats.cache_path is None


def test_nothing_is_kept_when_a_source_was_written_after_the_digest(monkeypatch):
    assert kernel(hypotenuse).stats.cache_path is not None
    monkeypatch.setattr(cache, "STATE", (("residuals.py", 0, 0), *cache.STATE[1:]))
    assert kernel(hypotenuse).stats.cache_path is None


def hypotenuse(x, y):
    return (x * x + y * y) ** 0.5


# --- places -----------------------------------------------------------------------------------------------------------


def digests(n: int) -> list[str]:
    return [f"{i:032x}" for i in range(n)]


def test_folders_of_old_digests_are_removed(tmp_path):
    """All but the last few that were used, and nothing that is not such a folder."""
    foreign = tmp_path / f"{cache.PREFIX}notes"
    foreign.mkdir()
    folders = [cache._opened(tmp_path, digest) for digest in digests(cache.KEPT + 1)]
    for i, folder in enumerate(folders):
        os.utime(folder, (i, i))
    assert cache._opened(tmp_path, digests(1)[0]) == folders[0]  # used again just now
    newest = cache._opened(tmp_path, "f" * 32)
    assert set(tmp_path.iterdir()) == {foreign, newest, folders[0], *folders[2:]}


def unwritable(monkeypatch, tmp_path) -> None:
    """Files where folders should be: not even an administrator can write there."""
    block = tmp_path / "file"
    block.touch()
    sources = copied(tmp_path) / "discreet" / "kernels"
    (sources / "__pycache__").touch()
    monkeypatch.setattr(cache, "SOURCES", sources)
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", str(block))
    monkeypatch.setenv("HOME", str(block / "nonexistent"))


def test_without_a_place_to_write_a_temporary_one_is_used(tmp_path, monkeypatch):
    unwritable(monkeypatch, tmp_path)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match=r"cannot be kept in .*Set NUMBA_CACHE_DIR") as told:
        folder = cache.choose_folder("0" * 32)
    assert len(told) == 1
    assert folder.is_dir()
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_without_even_that_kernels_are_kept_in_memory(tmp_path, monkeypatch):
    unwritable(monkeypatch, tmp_path)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="this process compiles its own"):
        assert cache.choose_folder("0" * 32) is None


def test_a_place_that_can_be_written_needs_no_note(tmp_path, monkeypatch):
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.choose_folder("0" * 32).parent == tmp_path


@pytest.mark.parametrize("trap", ["link", "open to all", "of another user"])
def test_a_temporary_folder_that_others_could_write_is_not_used(tmp_path, monkeypatch, trap):
    """Machine code is read from it: whoever can write there decides what runs."""
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    folder, user = tmp_path / f"discreet-{os.getuid()}", os.getuid()
    if trap == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir(mode=0o700)
        assert cache.own_temporary_folder() == folder
    if trap == "open to all":
        folder.chmod(0o777)
    if trap == "of another user":
        folder.rename(tmp_path / f"discreet-{user + 1}")
        monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert cache.own_temporary_folder() is None


AS_NOBODY = """
import os, shutil, sys, tempfile
import llvmlite.binding, numba, numba.extending
numba.njit(lambda n: n + 1)(1)  # loads all of numba, which may lie where only root can read
if os.getuid() == 0:  # no folder is closed to root
    os.setgid(65534)
    os.setuid(65534)
import numpy as np
from discreet.kernels import cache
from discreet.kernels.sums.word_weights import add_weights
cells = np.zeros(1, np.int64)
add_weights(np.zeros(1, np.int32), np.ones(1, np.int64), 1, np.ones(1, bool), np.array([0, 7]), cells)
print(cells[0], cache.FOLDER)
"""


def test_a_user_without_rights_and_home_gets_a_note_and_a_result():
    """As in a container: the package cannot be written, and there is no home."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        sources, temporary = copied(Path(parent)), Path(parent) / "tmp"
        temporary.mkdir()
        temporary.chmod(0o1777)
        kernels = sources / "discreet" / "kernels"
        kernels.chmod(0o555)
        done = run(sources, AS_NOBODY, HOME="/nonexistent", TMPDIR=str(temporary))
        kernels.chmod(0o755)
    result, folder = done.stdout.split()
    assert result == "7"
    assert folder.startswith(str(temporary / "discreet-"))
    assert done.stderr.count("Set NUMBA_CACHE_DIR") == 1


def test_a_command_tells_it_in_one_line(tmp_path, monkeypatch, capsys):
    unwritable(monkeypatch, tmp_path)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "file"))
    monkeypatch.setattr("discreet.cli._run", lambda _: cache.choose_folder("0" * 32) and 0)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        main([])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: compiled kernels cannot be kept in")
