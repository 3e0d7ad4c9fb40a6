"""The version of torch that names and results follow (source: ``torch.version``)."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["TorchVersion", "__version__", "cuda", "debug", "git_version", "hip", "mps", "xpu"]


def _split(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, without its suffix."""
    numbers = []
    for part in text.partition("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """A version that compares by its numbers, with strings and tuples too (source: ``torch.torch_version.TorchVersion``).

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    def _key(self, other: Any) -> tuple[int, ...]:
        return _split(".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other))

    def __lt__(self, other: Any) -> bool:
        return _split(self) < self._key(other)

    def __le__(self, other: Any) -> bool:
        return _split(self) <= self._key(other)

    def __gt__(self, other: Any) -> bool:
        return _split(self) > self._key(other)

    def __ge__(self, other: Any) -> bool:
        return _split(self) >= self._key(other)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or (
            isinstance(other, (tuple, list)) and _split(self) == self._key(other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__: Final = TorchVersion("2.13.0+torchlike")
debug: Final = False
cuda: Final = None
hip: Final = None
mps: Final = None
xpu: Final = None
git_version: Final = "unknown"
