"""Questions about modes, and blocks without them (source: ``torch.utils._mode_utils``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..overrides import DisableTorchDispatch


def all_same_mode(modes: Sequence[object]) -> bool:
    """Return whether all modes of a list are equal.

    >>> all_same_mode([1, 1]), all_same_mode([1, 2])
    (True, False)
    """
    return all(mode == modes[0] for mode in modes)


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Turn off the handlers of operators, of modes and of classes, while a block runs."""
    with DisableTorchDispatch():
        yield
