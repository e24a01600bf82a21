"""How good topics are: held-out perplexity, coherence, diversity, and which topic is which."""

from discreet.evaluation._top_words import top_words
from discreet.evaluation.coherence import Coherence, coherence, mixed_coherence
from discreet.evaluation.coverage import coverage
from discreet.evaluation.diversity import diversity
from discreet.evaluation.matching import Matching, match_topics
from discreet.evaluation.perplexity import (
    Completion,
    completion,
    completion_perplexity,
    fold_in_perplexity,
    unigram_perplexity,
)
from discreet.evaluation.similarity import Plane, classical_scaling, hellinger

__all__ = [
    "Coherence",
    "Completion",
    "Matching",
    "Plane",
    "classical_scaling",
    "coherence",
    "completion",
    "completion_perplexity",
    "coverage",
    "diversity",
    "fold_in_perplexity",
    "hellinger",
    "match_topics",
    "mixed_coherence",
    "top_words",
    "unigram_perplexity",
]
