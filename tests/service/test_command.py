"""``discreet collect`` from the first start to topics, as an operator and a sender use it."""

from __future__ import annotations

import json
import os
import re
import time
import urllib.request
from pathlib import Path

import pytest

from discreet.collector.store.folder import Folder
from tests.contract.conftest import run  # noqa: F401 (a fixture)
from tests.support.collector_process import Process, collector
from tests.support.command import Run

WORDS = ("cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind")


def notes(path: Path) -> Path:
    kinds = ("rain wind storm cloud", "piano violin music concert")
    lines = [{"body": f"{kinds[i % 2]} {WORDS[i % 8]} {WORDS[i % 7]} {WORDS[i % 5]}"} for i in range(120)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_from_the_first_start_to_topics(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "words.txt").write_text("# public words\n" + "\n".join(WORDS))
    folder = tmp_path / "collector"
    with collector(folder) as server:
        admin = ["--server", server.address, "--admin-token-file", folder / "admin-token"]
        assert os.stat(folder / "admin-token").st_mode & 0o777 == 0o600
        assert (folder / "admin-token").read_text().strip() not in server.said
        options = "--epsilon-bit 2 --max-words 3 --words letters -k 2 --window 20 --window-minutes 60 --min-reports 10"
        more = "--retention-days 7 --reports-per-client 50 --reports-per-minute 500"
        create = ["collect", "create", "mood", "--vocabulary", tmp_path / "words.txt", *admin]
        made = run(*create, *options.split(), *more.split(), "--remark", "For a test.")
        assert made.code == 0, made.err
        assert "made the campaign mood with 8 words" in made.out
        assert made.out.startswith("ε = 12 for a whole report, ε = 3.72 for one word of it (2 per bit)\n")
        again = run(*create, "--flip", "0.2")
        assert again.code == 2
        assert "there is a campaign 'mood' already" in again.err
        shown = json.loads(run(*create[:2], "mood2", *create[3:], "--flip", "0.2", "--max-words", "0", "--json").out)
        assert (shown["noise"]["f"], shown["max_words"]) == (pytest.approx(0.2), None)
        assert run(*create[:2], "mood3", *create[3:]).code == 2
        token = run("collect", "token", "mood", *admin, "--label", "test", "--days", "3")
        assert re.fullmatch(r"dcw_[0-9a-f]{16}_[\w-]{43}\n", token.out)
        (tmp_path / "write-token").write_text(token.out)
        send = ["collect", "report", notes(tmp_path / "notes.jsonl"), "--text", "body", "--campaign", "mood"]
        send += [
            "--memory",
            tmp_path / "memory.db",
            "--server",
            server.address,
            "--token-file",
            tmp_path / "write-token",
        ]
        sent = run(*send)
        assert sent.code == 0, sent.err
        assert sent.out.startswith("ε = 12 for a whole report, ε = 3.72 for one word of it (2 per bit)\n")
        first = re.search(
            r"^the collector has accepted 120 reports, (\d+) of them answers given before, which it keeps once$",
            sent.out,
            re.M,
        )
        assert first is not None
        assert "whole report: ε = 12" in sent.out
        again_sent = json.loads(run(*send, "--json", "--max-epsilon", "12.1").out)
        assert (again_sent["accepted"], again_sent["repeated"]) == (120, 120)
        refused = run(*send, "--max-epsilon", "3")
        assert refused.code == 2
        assert "and you allow 3" in refused.err
        stored = 120 - int(first[1])
        topics = waited_for(f"{server.address}/campaigns/mood/topics", lambda found: found["window"] >= stored // 20)
        assert topics["reports"]["received"] == stored
        assert len(topics["topics"]) == 2
        assert run("collect", "backup", folder, "-o", tmp_path / "copy").code == 0
        assert run("collect", "end", "mood", *admin).out == "ended mood\n"
        token_id = token.out.split("_")[1]
        assert run("collect", "revoke", token_id, *admin).out == f"revoked {token_id}\n"
        assert run("collect", "revoke", token_id[::-1], *admin).code == 2
        late = run(*send)
        assert late.code == 2
        assert "(401)" in late.err
        second = run("collect", "serve", folder)
        assert second.code == 2
        assert "another process" in second.err
    trained = run("collect", "train", folder, "--once")
    assert (trained.code, trained.out) in ((0, "trained 0 windows\n"), (0, "trained 1 window\n"))
    with collector(tmp_path / "copy", "--no-training") as restored:
        found = json.load(urllib.request.urlopen(f"{restored.address}/campaigns/mood/topics"))
        assert (found["window"], found["reports"]["received"]) == (topics["window"], stored)


@pytest.mark.parametrize("command", ["serve", "train", "create", "token", "revoke", "end", "report", "backup"])
def test_help_ends_with_an_example(run: Run, command: str) -> None:  # noqa: F811
    shown = run("collect", command, "--help").out.rstrip()
    assert re.search(rf"  Example:  discreet collect {command} [^\n]+\Z", shown)


def waited_for(address: str, ready, seconds: float = 60) -> dict:
    end = time.monotonic() + seconds
    while True:
        with urllib.request.urlopen(address) as answer:
            found = json.load(answer)
        if ready(found):
            return found
        assert time.monotonic() < end, found["window"]
        time.sleep(0.3)


def test_bad_input_is_one_line(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "words.txt").write_text("rain\n")
    (tmp_path / "empty").write_text("")
    create = ["collect", "create", "a", "--vocabulary", tmp_path / "words.txt", "--epsilon-bit", "2"]
    for command in (
        ["collect", "serve", tmp_path / "c", "--database", "mysql://u:secret@h/d"],
        ["collect", "serve", tmp_path / "c", "--host", "192.0.2.1"],
        ["collect", "train", tmp_path / "nothing", "--once"],
        [*create, "--admin-token-file", tmp_path / "none"],
        [*create, "--admin-token-file", tmp_path / "empty"],
        [*create, "--admin-token-file", tmp_path / "words.txt", "--server", "http://example.org"],
        [*create, "--admin-token-file", tmp_path / "words.txt", "--flip", "0.5"],
        ["collect", "backup", tmp_path, "-o", tmp_path / "new"],
    ):
        ran = run(*command)
        assert ran.code == 2, command
        assert len(ran.err.splitlines()) == 1
        assert "secret" not in ran.err


def test_the_training_process_comes_back(tmp_path: Path) -> None:
    """Killed, it is started again; the server goes on meanwhile."""
    with collector(tmp_path / "c") as server:
        child = child_of(server)
        os.kill(child, 9)
        end = time.monotonic() + 30
        while child_of(server) == child:
            assert time.monotonic() < end
        with urllib.request.urlopen(f"{server.address}/metrics") as page:
            assert b"discreet_training_alive 1" in page.read()


def child_of(server: Process) -> int:
    """The living child process; the server starts it in a moment."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        tasks = list(Path(f"/proc/{server.process.pid}/task").iterdir())
        found = [int(one) for task in tasks for one in (task / "children").read_text().split()]
        if living := [one for one in found if alive(one)]:
            assert len(living) == 1
            return living[0]
        time.sleep(0.1)
    raise AssertionError("there is no training process")


def alive(pid: int) -> bool:
    """Not ended: one that nobody has waited for yet has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_training_process_ends_with_a_killed_server(tmp_path: Path) -> None:
    server = Process(tmp_path / "c")
    child = child_of(server)
    server.kill()
    end = time.monotonic() + 30
    while alive(child):
        assert time.monotonic() < end
        time.sleep(0.1)
    folder = Folder(tmp_path / "c")
    with folder.alone("serve"), folder.alone("train"):
        pass


def test_the_container_runs_a_command_that_exists(run: Run) -> None:  # noqa: F811
    """No container runtime is needed: the words of the Dockerfile are those of the command."""
    root = Path(__file__).parents[2]
    lines = (root / "Dockerfile").read_text().splitlines()
    entry, command = (json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith(("ENTRYPOINT", "CMD")))
    assert entry == ["discreet", "collect"]
    assert command[:2] == ["serve", "/data"]
    told = run("collect", "serve", "--help").out
    assert [word for word in command if word.startswith("--")] == ["--host", "--port"]
    assert all(word in told for word in ("--host", "--port"))
    compose = (root / "compose.yaml").read_text()
    assert "DISCREET_DATABASE: postgresql://" in compose
    assert "collector:/data" in compose
