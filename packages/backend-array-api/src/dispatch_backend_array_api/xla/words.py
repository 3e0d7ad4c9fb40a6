"""The words of programs of JAX; see Note [Error words] in `error_words`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from ..error_words import ErrorWords, WordChain
from ..value_checks import Check


class Chains:
    """The chains of words of one program, by where its arrays lie."""

    def __init__(self, words: ErrorWords) -> None:
        self._words = words
        self._found: dict[Any, WordChain] = {}

    def find(self, where: Any) -> WordChain:
        """Return the chain for a placement of whole arrays, or for None."""
        chain = self._found.get(where)
        if chain is None:
            chain = self._found.setdefault(where, WordChain(_make(where), self._words))
        return chain


def _make(where: Any) -> Any:
    """Return a word without an error; on a mesh one with a row for each device, where one process has them all."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        if not isinstance(where, NamedSharding) or jax.process_count() > 1:
            return jnp.zeros((1, 3), jnp.int64)
        return jax.device_put(jnp.zeros((where.mesh.size, 3), jnp.int64), _rows(where))


def _rows(where: NamedSharding) -> NamedSharding:
    return NamedSharding(where.mesh, PartitionSpec(where.mesh.axis_names))


def measure(word: Any, checks: Iterable[tuple[int, Check]], where: Any) -> Any:
    """Return a traced word with the findings of checks that have numbers; the first error stays."""
    number, value, count = word[:, 0], word[:, 1], word[:, 2]
    count = count + (number == 0)
    for own, check in checks:
        is_wrong, found = _measure(check, word.shape[0])
        is_new = (number == 0) & is_wrong
        number, value = jnp.where(is_new, own, number), jnp.where(is_new, found, value)
    word = jnp.stack([number, value, count], axis=1).astype(jnp.int64)
    return word if len(word) == 1 else jax.lax.with_sharding_constraint(word, _rows(where))


def _measure(check: Check, rows: int) -> tuple[Any, Any]:
    """Return whether values are wrong, and which, by rows; all in the first one where they cannot be cut."""
    (array,) = check.arrays
    if check.splits and array.size % rows == 0:
        return jax.vmap(partial(check.measure, jnp))(jnp.reshape(array, (rows, -1)))
    is_wrong, value = check.measure(jnp, array)
    return (jnp.arange(rows) == 0) & is_wrong, jnp.broadcast_to(value, (rows,))
