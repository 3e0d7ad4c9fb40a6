"""A schema and an operator's name as programs that are written for torch read them."""

from __future__ import annotations

from typing import Any

from .model import Argument, FunctionSchema, Return

__all__ = ["CallableName", "TorchSchema"]


class CallableName(str):
    """An operator's full name, which torch's programs call: ``op.name()``.

    >>> name = CallableName("aten::add.Tensor")
    >>> name, name()
    ('aten::add.Tensor', 'aten::add.Tensor')
    """

    __slots__ = ()

    def __call__(self) -> str:
        """Return the name."""
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class TorchSchema:
    """A schema whose ``name`` is text without the overload's, as ``torch.FunctionSchema`` has it.

    >>> schema = TorchSchema(FunctionSchema.parse("aten::add.Tensor(Tensor self, Tensor other) -> Tensor"))
    >>> schema.name, schema.overload_name, schema.is_mutable
    ('aten::add', 'Tensor', False)
    >>> print(schema)
    aten::add.Tensor(Tensor self, Tensor other) -> Tensor
    """

    __slots__ = ("plain",)

    def __init__(self, plain: FunctionSchema) -> None:
        #: The schema that is shown.
        self.plain = plain

    @property
    def name(self) -> str:
        """The namespace and the name that all overloads share."""
        return self.plain.name.packet

    @property
    def overload_name(self) -> str:
        """The overload's name, empty for the one without a name."""
        return self.plain.name.overload

    @property
    def arguments(self) -> list[Argument]:
        """The arguments, in order."""
        return list(self.plain.arguments)

    @property
    def returns(self) -> list[Return]:
        """The results, in order."""
        return list(self.plain.returns)

    @property
    def is_view(self) -> bool:
        """Whether a result shares the memory of an argument that is not written to."""
        aliases = [each.alias_info for each in self.plain.arguments if each.alias_info is not None]
        return bool(aliases) and not any(each.is_write for each in aliases)

    def __getattr__(self, name: str) -> Any:
        if name == "plain" or (name.startswith("__") and name.endswith("__")):  # while it is copied, it has none
            raise AttributeError(name)
        return getattr(self.plain, name)

    def __str__(self) -> str:
        return str(self.plain)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchSchema) and self.plain == other.plain

    def __hash__(self) -> int:
        return hash(self.plain)

    def __reduce__(self) -> tuple[type[TorchSchema], tuple[FunctionSchema]]:
        return TorchSchema, (self.plain,)
