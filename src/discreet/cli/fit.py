"""``discreet fit``: documents in, a model folder out."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._catalogue import METHODS
from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.foresee import (
    LengthOption,
    TopicsOption,
    WordsShareOption,
    YesOption,
    check_length,
    check_share,
    foresee,
    plan_of,
    topics_asked,
    usual_method,
)
from discreet.cli.local import BatchOption, EpsilonBitOption, ReportWordsOption
from discreet.cli.methods import ALPHA, check_method, make_model
from discreet.cli.notes import no_names_of_pictures, note_charge, note_corpus, note_words, warnings_as_notes
from discreet.cli.paid import Paid, check_space, save, stoppable
from discreet.cli.public import PublicOption, PublicTextOption, SameFieldOption, check_public_text, open_public
from discreet.cli.source import (
    CodebookOption,
    CollectionOption,
    CollectionsOption,
    DatasetOption,
    FileArgument,
    GroupOption,
    JsonOption,
    LabelOption,
    LemmasOption,
    MaxWordsOption,
    OverwriteOption,
    PhrasesOption,
    StopWordsOption,
    TextOption,
    ThreadsOption,
    TokenPatternOption,
    VocabularyOption,
    holds_pictures,
    named_collections,
    open_compared,
    open_corpus,
)
from discreet.cli.spark import EngineOption, MasterOption, ShardsOption, open_engine, open_stored, words_of_public
from discreet.cli.wording import in_options
from discreet.cli.words import check_phrases, check_words, note_reading

if TYPE_CHECKING:
    from discreet.privacy.budget import BudgetFile
    from discreet.release.release import Release


PANELS = {
    "Common options": ("output", "text", "topics", "epsilon", "group", "vocabulary", "budget", "quiet"),
    "Privacy": (
        *("delta", "units", "collections", "public", "words_share", "words_per_document", "yes"),
        *("checkpoint", "epsilon_bit", "report_words"),
    ),
    "Reading": (
        *("dataset", "stop_words", "max_words", "token_pattern", "lemmas", "phrases"),
        *("codebook", "collection", "label"),
    ),
    "Training": (
        "method",
        "sweeps",
        "alpha",
        "beta",
        "alpha_rest",
        "beta_rest",
        "batch",
        "threads",
        "seed",
        "engine",
        "master",
        "shards",
    ),
    "Published forms": ("as_published", "adaptive", "configuration", "epsilon_inherent", "epsilon_laplace"),
}
"""How ``fit --help`` shows the parameters below."""

LEAST_ROOM = 2**17
"""Bytes that must be free where a model is written, besides those of its topics: for the words and release.json."""

MOST_TOPICS = 50
"""Topics that are printed."""


def fit(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The folder to make.")],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Privacy budget of this run; makes it private.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", metavar="D", help="The delta of (epsilon, delta); 1e-06 by default.")
    ] = None,
    budget: Annotated[
        Path | None, typer.Option("--budget", metavar="FILE", help="Charge this budget file (see `discreet budget`).")
    ] = None,
    units: Annotated[
        int | None,
        typer.Option("--units", metavar="N", min=1, help="The number of documents (or users), if that is public."),
    ] = None,
    public: PublicOption = None,
    public_text: PublicTextOption = None,
    same_field: SameFieldOption = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FOLDER", help="Save the run here, to resume it after an interruption."),
    ] = None,
    epsilon_bit: EpsilonBitOption = None,
    report_words: ReportWordsOption = None,
    batch: BatchOption = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="|".join(METHODS),
            help="The model; with --epsilon private (or private-cross, or by plan), --epsilon-bit local, else lda.",
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="cross-…, hybrid…, laplace…, …local, spectral, subsampled: the paper's form."
        ),
    ] = False,
    epsilon_inherent: Annotated[
        float | None,
        typer.Option("--epsilon-inherent", metavar="E", help="hybrid… as published: epsilon of one sweep's draws."),
    ] = None,
    epsilon_laplace: Annotated[
        float | None,
        typer.Option("--epsilon-laplace", metavar="E", help="hybrid… as published: epsilon of one sweep's noise."),
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="subsampled: units with frequent words take part more often.")
    ] = False,
    configuration: Annotated[
        int | None,
        typer.Option(
            "--configuration",
            metavar="1|2|3|4",
            min=1,
            max=4,
            help="spectral, with --as-published: one of the paper's four configurations.",
        ),
    ] = None,
    topics: TopicsOption = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            "--sweeps", metavar="N", min=1, help="Passes over the documents; lda 200, cross-… 600 by default."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Prior weight of each topic in a document; 0.1 by default.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", help="Prior weight of each word in a topic; lda, cross-… 0.01 by default.")
    ] = None,
    alpha_rest: Annotated[
        float | None,
        typer.Option(
            "--alpha-rest", metavar="A", help="lbla, cross-lbla: prior weight of all topics but the last together."
        ),
    ] = None,
    beta_rest: Annotated[
        float | None,
        typer.Option(
            "--beta-rest", metavar="B", help="lbla, cross-lbla: prior weight of all words but the last together."
        ),
    ] = None,
    text: TextOption = None,
    group: GroupOption = None,
    collection: CollectionOption = None,
    collections: CollectionsOption = None,
    label: LabelOption = None,
    vocabulary: VocabularyOption = None,
    max_words: MaxWordsOption = None,
    stop_words: StopWordsOption = None,
    token_pattern: TokenPatternOption = None,
    lemmas: LemmasOption = None,
    phrases: PhrasesOption = None,
    words_share: WordsShareOption = None,
    words_per_document: LengthOption = None,
    codebook: CodebookOption = None,
    yes: YesOption = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Repeat a run; never for a private model."),
    ] = None,
    threads: ThreadsOption = None,
    engine: EngineOption = "threads",
    master: MasterOption = None,
    shards: ShardsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table of topics.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on FILE and write it to the folder MODEL, completely or not at all."""
    given: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "budget": budget,
        "units": units,
        "public": public,
        "checkpoint": checkpoint,
        "collections": named_collections(collections),
        "sweeps": sweeps,
        "beta": beta,
        "alpha-rest": alpha_rest,
        "beta-rest": beta_rest,
        "as-published": as_published or None,
        "epsilon-bit": epsilon_bit,
        "report-words": report_words,
        "batch": batch,
        "epsilon-inherent": epsilon_inherent,
        "epsilon-laplace": epsilon_laplace,
        "adaptive": adaptive or None,
        "configuration": configuration,
    }
    name = method or usual_method(given, topics, collection, words_per_document, near=same_field, quiet=quiet)
    row = check_method(name, given)
    asked = topics_asked(topics, name, given)
    check_length(words_per_document, name, given, named=method is not None)
    from discreet.release.folder import check_target

    if str(output) == "-":
        raise InputError("a model is a folder and cannot be written to standard output. Name a folder with --output.")
    check_target(output, overwrite=overwrite)
    if checkpoint is not None and _nested(output.resolve(), checkpoint.resolve()):
        raise InputError(
            f"--checkpoint {checkpoint} is private, --output {output} is to be given away, and one lies in the other. "
            "Name two folders."
        )
    if budget is not None and seed is not None:
        raise InputError(
            "a seeded run promises nothing, so no budget can account for it. Leave --seed or --budget out."
        )
    file_of_budget = _open_budget(budget)
    from discreet.corpus.corpus import LONGEST_DOCUMENT

    pictures = holds_pictures(file, dataset)
    # then --max-words applies to the released words; pictures have no words to select
    selecting = row.selects_words and vocabulary is None and not pictures
    check_share(words_share, selecting=selecting)
    chosen = vocabulary is not None or max_words is not None
    check_phrases(phrases, method=name, selecting=selecting, chosen=chosen)
    if engine == "spark" and group is not None and not row.users:
        raise InputError(f"{name} in this form has no use for --group, and on Spark it costs a sort. Leave it out.")
    elsewhere = open_engine(context, engine, master, shards, name)
    opened: Any = partial(open_compared, name) if row.model.collections else open_corpus
    opened = opened if elsewhere is None else partial(open_stored, context, elsewhere)
    reading: dict[str, Any] = {
        "stop_words": stop_words,
        "token_pattern": token_pattern,
        "lemmas": lemmas,
        "phrases": phrases,
    }
    check_public_text(public, public_text)
    if public is not None:
        fixed = asked if name == "adapted" else None  # PrivateLDA takes as many topics as it is asked for
        given["public"] = open_public(public, file, dataset, column=public_text, n_topics=fixed, quiet=quiet, **reading)
    asked = asked or row.n_topics
    words: Any = vocabulary
    if elsewhere is not None and name == "adapted" and vocabulary is None:
        words, max_words, selecting = words_of_public(given["public"], max_words), None, False
    with no_names_of_pictures() if row.private and pictures else nullcontext():
        corpus = opened(
            file,
            dataset,
            text=text,
            group=group,
            collection=collection,
            label=label,
            vocabulary=words,
            max_words=None if selecting else max_words,
            codebook=codebook,
            **reading,
            max_tokens=LONGEST_DOCUMENT if row.private else None,  # one unit must not stop a private run
            quiet=quiet,
        )
    if not quiet:
        note_reading(corpus, vocabulary=vocabulary, lemmas=lemmas, stop_words=stop_words)
    if row.private:
        check_words(corpus, name, row, selecting=selecting)
    unused = {"group": None if row.users else group, "label": label}
    unused["collection"] = None if row.model.collections else collection
    for option in (option for option, column in unused.items() if column is not None and not quiet):
        show.note(f"note: {name} does not use --{option}; the column was checked and ignored")
    if not row.users and elsewhere is None:
        corpus = replace(corpus, groups=None)
    alpha = row.form.defaults.get("alpha", ALPHA) if alpha is None else alpha
    common: dict[str, Any] = {"alpha": alpha, "n_threads": threads, "random_state": seed, "progress": not quiet}
    common["engine"] = elsewhere
    if file_of_budget is not None:
        from discreet.privacy import Ledger

        common["ledger"] = Ledger(file=file_of_budget)
    if not quiet and not row.private and elsewhere is None:
        common["callbacks"] = [partial(note_corpus, corpus)]
    elif not quiet and budget is not None:
        common["callbacks"] = [
            partial(note_charge, budget, "the whole run" if checkpoint is None else "its first rounds")
        ]
    planned = plan_of(name, given, asked, corpus, words_share, selecting=selecting, length=words_per_document)
    n_topics = int(asked) if planned is None else planned.known.n_topics
    check_space(output, LEAST_ROOM + (0 if selecting else 8 * n_topics * corpus.n_words))
    model = make_model(row, n_topics, given, **common)  # last: bad input is reported before its import
    if planned is not None:
        foresee(planned, asked=asked, yes=yes, quiet=quiet, guessed=words_per_document is None)
    start = time.perf_counter()
    from discreet.models.fit_text import fit_text
    from discreet.training.checkpoint import kept_until_safe

    paid, failed = Paid(file_of_budget), None
    with warnings_as_notes(), stoppable(checkpoint, paid), kept_until_safe():
        found = None if quiet else partial(note_words, budget)
        share = words_share or (planned.expected.share if planned is not None else 0.0) or None
        most = max_words if selecting else None
        model = fit_text(model, corpus, max_words=most, share=share, after_selection=found)
        seconds = time.perf_counter() - start
        release = model.release()
        failed = save(release, output, overwrite=overwrite, paid=paid)
    if failed is not None:
        raise failed
    with suppress(KeyboardInterrupt):  # the model is written: interrupting the output now is not a failure
        _report(release, output, None if row.private else seconds, quiet=quiet, as_json=as_json)


def _nested(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def _open_budget(path: Path | None) -> BudgetFile | None:
    """Open it before anything is read: a damaged or missing file should not cost the time of reading documents."""
    if path is None:
        return None
    from discreet.privacy.budget import BudgetFile

    return BudgetFile(path)


def _report(release: Release, output: Path, seconds: float | None, *, quiet: bool, as_json: bool) -> None:
    """``seconds`` are printed for ordinary models only: the duration of a training depends on how much text there
    is."""
    if as_json:
        show.as_json(summary(release, output, seconds))
        return
    if not quiet:
        left_out = show.topics_table(release, most=MOST_TOPICS)
        if left_out:
            show.note(f"{left_out} more topics: discreet topics {quote(str(output))}")
    typer.echo(f"guarantee: {release.guarantee.summary()}")
    if release.usefulness is not None:
        typer.echo(in_options(release.usefulness.summary()))
    if seconds is None:
        typer.echo(str(release.guarantee))
        typer.echo(f"wrote {output}")
    else:
        typer.echo(f"trained in {seconds:.1f} s, wrote {output}")


def summary(release: Release, output: Path, seconds: float | None) -> dict[str, Any]:
    return {
        "model": str(output),
        "method": release.method,
        "parameters": release.parameters,
        "n_topics": release.n_topics,
        "n_words": release.n_words,
        **({} if seconds is None else {"seconds": round(seconds, 3)}),
        "guarantee": release.guarantee.to_json(),
        "usefulness": show.usefulness_json(release),
        **show.topics_json(release),
    }
