"""``discreet collect``: the collector of randomised reports, and its clients."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.source import JsonOption, TextOption

if TYPE_CHECKING:
    from discreet.collector.client.http import Connection

app = typer.Typer(help="Collect randomised reports, and send them.", rich_markup_mode=None)

DATABASE = "DISCREET_DATABASE"
LOCAL = "http://127.0.0.1:8000"

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the collector keeps its things.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.", show_default=False)]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar=DATABASE,
        show_envvar=False,
        help=f"postgresql://…; by default SQLite in FOLDER. Better given as {DATABASE}: it may hold a password.",
    ),
]
ServerOption = Annotated[
    str, typer.Option("--server", metavar="URL", help="The collector's address, https:// unless on this machine.")
]
AdminTokenOption = Annotated[
    Path, typer.Option("--admin-token-file", metavar="FILE", help="The file that holds the admin token.")
]


def _server_parts() -> Any:
    try:
        from discreet.collector import serve
    except ModuleNotFoundError as error:
        raise InputError(
            f"the collector needs the package {error.name}. Install it with: pip install 'discreet[collector]'."
        ) from None
    return serve


def _token(file: Path) -> str:
    if not file.is_file():
        raise InputError(f"there is no token file {file}. Give the file that holds the token.")
    text = file.read_text("utf-8", errors="replace").strip()
    if not text or not text.isascii() or len(text) > 200:
        raise InputError(f"{file} does not hold a token.")  # and whatever it holds is not printed
    return text


def _admin(server: str, file: Path) -> Connection:
    from discreet.collector.client.http import Connection

    return Connection(server, _token(file))


@app.callback()
def collect() -> None:
    """Collect randomised reports, and send them: the local model, in which the server is not trusted."""


@app.command(
    epilog="\b\nExample:  discreet collect serve collector --port 8000", short_help="Take reports, train, show topics"
)
def serve(
    folder: FolderArgument,
    database: DatabaseOption = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on; put a proxy with TLS before it.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free port.")] = 8000,
    training: Annotated[
        bool, typer.Option("--training/--no-training", help="Whether to run the training process too.")
    ] = True,
) -> None:
    """Run the collector until it is stopped. FOLDER is made if it is not there."""
    parts = _server_parts()
    parts.serve(parts.Folder(folder, database), host=host, port=port, training=training, say=_say)


def _say(line: str) -> None:
    """At once, also into a pipe: whoever started the server waits for this line."""
    print(line, flush=True)


@app.command(epilog="\b\nExample:  discreet collect train collector", short_help="Train on what has arrived")
def train(
    folder: FolderArgument,
    database: DatabaseOption = None,
    once: Annotated[bool, typer.Option("--once", help="Train what is waiting, then end.")] = False,
) -> None:
    """Close windows of reports, train on them and delete old reports, until stopped. `serve` runs this by itself."""
    parts = _server_parts()
    from discreet.collector.training.trainer import train as run

    n = run(parts.Folder(folder, database), once=once)
    if once:
        typer.echo(f"trained {n} window{'' if n == 1 else 's'}")


@app.command(
    epilog="\b\nExample:  discreet collect create mood --vocabulary words.txt --epsilon-bit 2 "
    "--admin-token-file collector/admin-token",
    short_help="Make a campaign",
)
def create(
    name: NameArgument,
    vocabulary: Annotated[
        Path, typer.Option("--vocabulary", metavar="FILE", help="The public words, one per line.", show_default=False)
    ],
    admin_token_file: AdminTokenOption,
    server: ServerOption = LOCAL,
    epsilon_bit: Annotated[
        float | None, typer.Option("--epsilon-bit", metavar="E", help="The epsilon of one bit of a report.")
    ] = None,
    flip: Annotated[
        float | None, typer.Option("--flip", metavar="F", help="Instead: the papers' f, twice the flip probability.")
    ] = None,
    max_words: Annotated[
        int, typer.Option("--max-words", min=0, metavar="N", help="Different words in a report; 0: no limit.")
    ] = 50,
    words: Annotated[
        str, typer.Option("--words", metavar="english|letters", help="What a word is: a-z, or any alphabet.")
    ] = "english",
    topics: Annotated[int, typer.Option("--topics", "-k", metavar="K", min=1, help="Number of topics.")] = 20,
    window: Annotated[int, typer.Option("--window", metavar="N", min=1, help="Reports that are trained together.")] = (
        1000
    ),
    window_minutes: Annotated[
        int | None, typer.Option("--window-minutes", metavar="N", min=1, help="Train also what is this old.")
    ] = None,
    min_reports: Annotated[
        int, typer.Option("--min-reports", metavar="N", min=1, help="But never fewer reports than this.")
    ] = 100,
    retention_days: Annotated[
        int, typer.Option("--retention-days", metavar="N", min=1, help="Delete trained reports after this time.")
    ] = 30,
    reports_per_client: Annotated[
        int, typer.Option("--reports-per-client", metavar="N", min=1, help="Different texts that one device reports.")
    ] = 100,
    reports_per_minute: Annotated[
        int, typer.Option("--reports-per-minute", metavar="N", min=1, help="The most with one write token.")
    ] = 6000,
    remark: Annotated[str, typer.Option("--remark", help="Your words beside the privacy statement.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a campaign. It never changes afterwards."""
    from discreet.collector.campaign import Campaign
    from discreet.collector.statement import headline
    from discreet.corpus.vocabulary import public_vocabulary
    from discreet.mechanisms.local import RandomisedResponse

    listed = public_vocabulary(vocabulary)
    if (epsilon_bit is None) == (flip is None):
        raise InputError("give either --epsilon-bit, such as 2, or --flip.")
    cap = max_words or None
    if epsilon_bit is not None:
        response = RandomisedResponse.for_epsilon(epsilon_bit, len(listed), cap)
    else:
        assert flip is not None
        response = RandomisedResponse.for_flip(flip, len(listed), cap)
    campaign = Campaign(
        name=name,
        vocabulary=listed,
        threshold=response.threshold,
        max_words=cap,
        words=words,  # type: ignore[arg-type]  # checked there
        n_topics=topics,
        window_reports=window,
        window_seconds=None if window_minutes is None else 60 * window_minutes,
        min_reports=min_reports,
        retention_days=retention_days,
        reports_per_client=reports_per_client,
        reports_per_minute=reports_per_minute,
        remark=remark,
    )
    made = _admin(server, admin_token_file).request("POST", "/campaigns", campaign.to_json())
    if as_json:
        show.as_json({key: value for key, value in made.items() if key != "vocabulary"})
        return
    typer.echo(headline(campaign))
    typer.echo(f"made the campaign {name} with {len(listed):,} words")
    for sentence in made["statement"]:
        typer.echo(f"* {sentence}")


@app.command(
    epilog="\b\nExample:  discreet collect token mood --admin-token-file collector/admin-token > write-token",
    short_help="Make a write token for senders",
)
def token(
    name: NameArgument,
    admin_token_file: AdminTokenOption,
    server: ServerOption = LOCAL,
    label: Annotated[str, typer.Option("--label", help="For whom it is.")] = "",
    days: Annotated[int, typer.Option("--days", min=0, help="How long it is valid; 0: for ever.")] = 365,
) -> None:
    """Print a new write token. It is shown this once: the collector keeps a hash only."""
    body = {"label": label, "days": days or None}
    made = _admin(server, admin_token_file).request("POST", f"/campaigns/{_plain(name)}/tokens", body)
    typer.echo(made["token"])


@app.command(
    epilog="\b\nExample:  discreet collect revoke 0123456789abcdef --admin-token-file collector/admin-token",
    short_help="Revoke a write token",
)
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The middle part of the token, no secret.")],
    admin_token_file: AdminTokenOption,
    server: ServerOption = LOCAL,
) -> None:
    """Make a token useless from now on."""
    _admin(server, admin_token_file).request("DELETE", f"/tokens/{_plain(token_id)}")
    typer.echo(f"revoked {token_id}")


@app.command(
    epilog="\b\nExample:  discreet collect end mood --admin-token-file collector/admin-token",
    short_help="End a campaign",
)
def end(name: NameArgument, admin_token_file: AdminTokenOption, server: ServerOption = LOCAL) -> None:
    """Take no more reports. The topics stay."""
    _admin(server, admin_token_file).request("POST", f"/campaigns/{_plain(name)}/end")
    typer.echo(f"ended {name}")


@app.command(
    epilog="\b\nExample:  discreet collect report notes.jsonl --text body --campaign mood --memory answers.db"
    " --token-file write-token",
    short_help="Randomise documents here and send the reports",
)
def report(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Documents, as for `discreet fit`.", show_default=False)],
    campaign: Annotated[str, typer.Option("--campaign", metavar="NAME", help="The campaign.", show_default=False)],
    memory: Annotated[
        Path,
        typer.Option("--memory", metavar="FILE", help="This device's answers; private, and needed next time."),
    ],
    token_file: Annotated[Path, typer.Option("--token-file", metavar="FILE", help="The file with the write token.")],
    server: ServerOption = LOCAL,
    text: TextOption = None,
    max_epsilon: Annotated[
        float | None,
        typer.Option("--max-epsilon", metavar="E", help="Refuse if a whole report has a larger epsilon."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Randomise each document of FILE on this machine and send only the random bits. A document is randomised once."""
    from discreet.collector.client.client import Client
    from discreet.collector.statement import headline
    from discreet.corpus import read

    with Client(server, campaign, _token(token_file), memory=memory, max_epsilon=max_epsilon) as client:
        about = client.campaign
        options = {} if text is None else {"text": text}
        corpus = read(file, vocabulary=about.vocabulary, tokenizer=about.tokenizer, **options)
        words = corpus.words.tolist()
        sent = client.report_words([words[a:b] for a, b in pairwise(corpus.offsets.tolist())])
        word, whole = client.guarantees
    if as_json:
        show.as_json({**sent._asdict(), "word": word.to_json(), "report": whole.to_json()})
        return
    typer.echo(headline(about))
    again = f", {sent.repeated:,} of them answers given before, which it keeps once" if sent.repeated else ""
    typer.echo(f"the collector has accepted {sent.accepted:,} reports{again}")
    typer.echo(f"whole report: {whole.summary()}")
    typer.echo(f"one word: {word.summary()}")


@app.command(
    epilog="\b\nExample:  discreet collect backup collector -o backup", short_help="Copy a running collector's state"
)
def backup(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder.", show_default=False)],
) -> None:
    """Copy the SQLite database and the newest releases while the collector runs. (PostgreSQL: use pg_dump.)"""
    _server_parts()
    from discreet.collector.store.backup import backup as run

    run(folder, output)
    typer.echo(f"wrote {output}; to restore, stop the collector and put its content in place of {folder}")


def _plain(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
