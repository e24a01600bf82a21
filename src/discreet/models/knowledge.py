"""What ``public=`` may be, and how public text becomes public topics over the words of a private fit.

Everything here is computed from public data, so it costs no budget. That it *is* public only its owner can know: each
way to give it has a condition, which the guarantee of the fit names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from discreet._errors import InputError, WouldLeak
from discreet._types import AnyArray, BoolArray, FloatArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.models.base import TopicModel
from discreet.models.lda import LDA
from discreet.privacy.guarantee import Basis, Guarantee, rounded_up
from discreet.release.release import Release

PUBLIC_TOPICS = 400
"""Topics of public text. They get no noise, so there may be many: each is narrow, and private text is a mixture. On
10,000 e-mails with newsgroups as public text, ε = 1, perplexity was 915 with 200, 848 with 400 and 788 with 800; on
abstracts with NeurIPS/CVPR 865 with 200 and 816 with 400. More take longer to train and to read."""

TOKENS_PER_TOPIC = 20
"""A short public text has fewer topics than were asked for: one for so many tokens."""

BETA = 0.02
MOST_SWEEPS, LEAST_SWEEPS, VISITS = 300, 100, 1.2e9
"""Of the LDA that is trained on public text. It sweeps until it has seen so many tokens; its topics are the mean over
the last third, which makes them smoother."""

SEED = 0
"""Public topics need no secret, and the same text should give the same topics in every fit."""

TEXT = "the text given as public= is public"
MODEL = "the model given as public= is public, and so are the documents that it was trained on"
OTHERS = (
    "the model given as public= was trained on other documents (its own guarantee: ε = {}, δ = {:g} for one {}, under "
    "its own conditions)"
)
"""Conditions of a guarantee."""

FEWEST, LONG, SHORT, MANY_WORDS = 0.5, 10, 3, 200
"""Public text is refused if it holds this share of the private documents that have at least so many words: `LONG`, or
`SHORT` where most documents are shorter than `LONG` and both texts have many words in common."""


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public topics over a list of words."""

    vocabulary: Vocabulary
    topics: FloatArray
    """Topic × word; rows sum to 1. Words that the public text does not have are 0 in every topic."""
    shares: FloatArray
    """The share of the public text in each topic; they sum to 1."""
    frequencies: FloatArray
    """The share of each word in the public text; they sum to 1."""
    condition: str
    """What a guarantee must assume."""
    corpus: Corpus | None = None
    """The public text itself, with all of its words, where that was given."""

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def known(self) -> BoolArray:
        """Which words occur in the public text."""
        return np.asarray(self.frequencies > 0)

    def over(self, vocabulary: Vocabulary) -> PublicKnowledge:
        """The same over other words: by their spelling. What lies outside is dropped, and topics sum to 1 again."""
        if vocabulary == self.vocabulary:
            return self
        place = np.array([self.vocabulary.columns.get(word, -1) for word in vocabulary])
        there = place >= 0
        topics, frequencies = self.topics[:, place] * there, self.frequencies[place] * there
        if not frequencies.sum() > 0:
            raise _no_common_words()
        frequencies /= frequencies.sum()
        masses = topics.sum(axis=1)
        topics[masses == 0] = frequencies  # a topic that has lost all of its words says nothing
        shares = self.shares * masses
        return PublicKnowledge(
            vocabulary,
            np.ascontiguousarray(topics / topics.sum(axis=1, keepdims=True)),
            shares / shares.sum(),
            frequencies,
            self.condition,
            self.corpus,
        )


ENGLISH = "english"
"""The name of the model of English that comes with the package (``english.py``)."""

N_ENGLISH = 200
"""Its topics."""

Public = Annotated[Any, object]
"""The type of a parameter ``public``. What it may be says `check_public`, in a line that does not repeat the text."""


def _named(public: Any) -> Any:
    """What a name stands for; everything else as it is."""
    if not isinstance(public, str) or public != ENGLISH:
        return public
    from discreet.models.english import english  # which needs this module

    return english()


def check_public(public: Any) -> None:
    """Refuse what cannot be used, before anything is read or charged."""
    public = _named(public)
    if not isinstance(public, Corpus | Release | TopicModel | PublicKnowledge):
        found = repr(public) if isinstance(public, str) and len(public) < 40 else f"a {type(public).__name__}"
        raise InputError(
            "public= takes a Corpus of public text, such as Corpus.from_texts(texts), a Release or a fitted model of "
            f"it, or 'english'; found {found}."
        )
    if isinstance(public, TopicModel) and not hasattr(public, "components_"):
        raise InputError(
            f"public= is a {type(public).__name__} that is not fitted. Fit it on public text, or pass its release()."
        )
    if isinstance(public, TopicModel | Release) and _guarantee(public).basis is Basis.CLAIMED:
        raise WouldLeak(
            "the model given as public= has a guarantee that is claimed and not proven, so it may reveal the documents "
            "that it was trained on. Use public text, or a model of it."
        )


def most_frequent_words(public: Any, n_words: int) -> Vocabulary:
    """The ``n_words`` most frequent words of public text, or of the topics of a model, in alphabetical order."""
    public = _named(public)
    words: Sequence[str]
    counts: AnyArray
    if isinstance(public, Corpus):
        words, counts = public.vocabulary, public.word_counts
    else:
        known = public if isinstance(public, PublicKnowledge) else _of_release(_released(public))
        words, counts = known.vocabulary, known.frequencies
    ranked = np.argsort(-counts, kind="stable")[:n_words]
    return Vocabulary(sorted(words[int(i)] for i in ranked if counts[i] > 0), "public")


def n_public_topics(public: Any, n_topics: int) -> int:
    """How many topics `public_knowledge` will have: known before anything is trained."""
    public = _named(public)
    if isinstance(public, PublicKnowledge | Release):
        return public.n_topics
    if isinstance(public, TopicModel):
        return len(public.components_)
    return max(1, min(n_topics, public.n_tokens // TOKENS_PER_TOPIC)) if isinstance(public, Corpus) else n_topics


def public_knowledge(
    public: Any,
    vocabulary: Vocabulary,
    *,
    n_topics: int = PUBLIC_TOPICS,
    n_threads: int | None = None,
    progress: bool = False,
) -> PublicKnowledge:
    """What ``public`` knows about the words of ``vocabulary``.

    A `Corpus` is public text: an ordinary LDA with ``n_topics`` topics is trained on it, over these words alone. The
    topics of a `Release` or of a fitted model are taken as they are, and so is a `PublicKnowledge`.
    """
    check_public(public)
    public = _named(public)
    if isinstance(public, PublicKnowledge):
        return public.over(vocabulary)
    if isinstance(public, Corpus):
        return _trained(public, vocabulary, n_topics, n_threads, progress)
    return _of_release(_released(public)).over(vocabulary)


def _trained(
    corpus: Corpus, vocabulary: Vocabulary, n_topics: int, n_threads: int | None, progress: bool
) -> PublicKnowledge:
    text = corpus.restrict(Vocabulary(vocabulary.words, "public"))
    if not text.n_tokens:
        raise _no_common_words()
    n_sweeps = int(np.clip(VISITS / text.n_tokens, LEAST_SWEEPS, MOST_SWEEPS))
    model = LDA(
        n_topics,
        beta=BETA,
        n_sweeps=n_sweeps,
        n_average=n_sweeps // 3,
        evaluate_every=0,
        algorithm="sampled",  # what is measured of private models was measured with this
        n_threads=n_threads,
        random_state=SEED,
        progress=progress,
    ).fit(text)
    counts = text.word_counts
    topics = model.components_ * (counts > 0)
    return PublicKnowledge(
        vocabulary,
        np.ascontiguousarray(topics / topics.sum(axis=1, keepdims=True)),
        model.topic_shares_,
        counts / counts.sum(),
        TEXT,
        corpus,
    )


def _of_release(release: Release) -> PublicKnowledge:
    """A release does not hold the frequencies of words: they are those of its topics, by their shares of the text."""
    shares = release.alpha if release.topic_shares is None else release.topic_shares
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(release.n_topics, 1 / release.n_topics)
    condition, its = MODEL, release.guarantee
    if its.basis is Basis.PROVEN:
        condition = OTHERS.format(rounded_up(its.epsilon), its.delta, its.unit)
    words = Vocabulary(release.vocabulary, "public")
    return PublicKnowledge(words, release.topics, shares, shares @ release.topics, condition)


def _released(public: Any) -> Release:
    return public.release() if isinstance(public, TopicModel) else public


def _guarantee(public: Any) -> Guarantee:
    found: Guarantee = public.guarantee if isinstance(public, Release) else public.guarantee_
    return found


def _no_common_words() -> InputError:
    return InputError(
        "the public text has none of the words of this fit. Use public text in the same language, read by the same "
        "tokenizer. (A matrix of counts carries no words: pass a Corpus, or texts with fit_text.)"
    )


# --- public text must be other text -----------------------------------------------------------------------------------


def refuse_same_text(public: Any, documents: Corpus | StoredCorpus) -> None:
    """Refuse public text that holds the private documents, where that can be seen: half of those that are long enough
    are in it, word for word.

    It reads private documents, like every other check of the input, and its message says nothing about them.
    """
    corpus = public.corpus if isinstance(public, PublicKnowledge) else public
    if not isinstance(corpus, Corpus) or isinstance(documents, StoredCorpus):  # those are not here to be compared
        return
    same = corpus is documents or np.shares_memory(corpus.words, documents.words)
    if not same:
        common = Vocabulary(tuple(word for word in documents.vocabulary if word in corpus.vocabulary) or ("",))
        own, others = documents.restrict(common), corpus.restrict(common)
        # short documents over few words are alike by chance
        short = 2 * int((own.lengths >= LONG).sum()) < own.n_documents and len(common) >= MANY_WORDS
        shortest = SHORT if short else LONG
        mine, seen = _digests(own, shortest), set(_digests(others, shortest))
        found = [one for one in mine if one in seen]
        same = len(found) >= max(FEWEST * len(mine), 1)
    if same:
        raise WouldLeak(
            "public= holds the documents of this fit, so its topics would reveal them. Give other text, which "
            "everybody may know."
        )


def _digests(corpus: Corpus, shortest: int) -> list[bytes]:
    """Of the documents with at least so many words, whatever their order: a matrix of counts has none."""
    ends = corpus.offsets.tolist()
    words: AnyArray = corpus.words
    return [
        hashlib.blake2b(np.sort(words[a:b]).tobytes(), digest_size=16).digest()
        for a, b in pairwise(ends)
        if b - a >= shortest
    ]
