"""The kinds of containers: under which type a tree finds its node; named tuples and struct sequences."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any, Final

#: The flag of types that may be subclassed (source: Python's ``Include/object.h``).
_IS_BASE_TYPE: Final = 1 << 10


def warn_of_former(name: str, instead: str, level: int = 3) -> None:
    """Warn that a name is torch's former one, as torch does."""
    warnings.warn(f"`{name}` is deprecated. Please use `{instead}` instead.", FutureWarning, stacklevel=level)


def _as_class(value: Any) -> type:
    return value if isinstance(value, type) else type(value)


def is_namedtuple_class(cls: Any) -> bool:
    """Return whether a class is that of named tuples; the classes of operators' results are struct sequences.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: int
    >>> is_namedtuple_class(Point), is_namedtuple_class(tuple)
    (True, False)
    """
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(each) is str for each in cls._fields)  # type: ignore[attr-defined]  # asked for above
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
        and not is_result_class(cls)
    )


def is_namedtuple(obj: Any) -> bool:
    """Return whether a value is a named tuple, or a class of them."""
    return is_namedtuple_class(_as_class(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Return whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def _is_namedtuple_instance(tree: Any) -> bool:
    """Return whether a value is a named tuple; the name is torch's former one."""
    warn_of_former("torch.utils._pytree._is_namedtuple_instance", "torch.utils._pytree.is_namedtuple_instance")
    return is_namedtuple_instance(tree)


def is_result_class(cls: type) -> bool:
    """Return whether a class is one of `torchlike.return_types`, which are struct sequences in torch."""
    return hasattr(cls, "_fields") and hasattr(cls, "n_unnamed_fields")


def is_structseq_class(cls: Any) -> bool:
    """Return whether a class is that of struct sequences, Python's or those of operators' named results.

    >>> import time, torchlike
    >>> is_structseq_class(time.struct_time), is_structseq_class(torchlike.return_types.max), is_structseq_class(tuple)
    (True, True, False)
    """
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    if not all(isinstance(getattr(cls, each, None), int) for each in counts):
        return False
    return is_result_class(cls) or (cls.__bases__ == (tuple,) and not cls.__flags__ & _IS_BASE_TYPE)


def is_structseq(obj: Any) -> bool:
    """Return whether a value is a struct sequence, or a class of them."""
    return is_structseq_class(_as_class(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Return whether a value is a struct sequence."""
    return is_structseq_class(type(obj))


def _get_node_type(tree: Any) -> Any:
    """Return the type under which a value would be registered: ``namedtuple`` for all named tuples."""
    kind = type(tree)
    return namedtuple if is_namedtuple_class(kind) else kind  # noqa: PYI024  # torch's key of all named tuples
