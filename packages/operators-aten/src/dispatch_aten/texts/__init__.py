"""The meaning of operators and their arguments, in a sentence and in phrases, for documentation; read when first asked for.

A file for each kind of operators has the table ``sentences``, by operators without overloads, and beside it ``aliases``, by
the operators that they are another name of, and ``arguments``, phrases by ``operator.argument``. A phrase that holds for
all operators of a kind stands there under ``*.argument``, one that holds everywhere in ``common.toml``. Operators that
follow from others by their names have no row: those in place, copies of views, and backward's.

>>> sentence_of("mul"), sentence_of("mul_")
('Multiply the tensor by ``other``, with broadcasting and type promotion.', 'In-place version of ``mul``.')
>>> phrase_of("mul", "other"), phrase_of("mul", "out")
('the factor, a tensor or a number', 'a tensor to write the result to')
"""

from __future__ import annotations

from .composition import compose, describe_results, document_operator, phrase_of_argument, summary_of
from .pages import page_of, page_of_operator
from .reader import alias_of, base_of, phrase_of, result_phrase, sentence_of

__all__ = [
    "alias_of",
    "base_of",
    "compose",
    "describe_results",
    "document_operator",
    "page_of",
    "page_of_operator",
    "phrase_of",
    "phrase_of_argument",
    "result_phrase",
    "sentence_of",
    "summary_of",
]
