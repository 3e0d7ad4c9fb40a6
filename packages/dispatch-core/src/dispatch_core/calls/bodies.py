"""The lines that call a backend's kernel, as its runner and callers have them, and their constants."""

from __future__ import annotations

from collections.abc import Sized
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .._record import replace
from ..arrays.frontend import Frontend
from ..arrays.protocols import ViewCode
from .boundary import Boundary, declined_error, make_coercer, make_view_checker
from .engine import KernelCall
from .signature import CallSignature, bad_count, bad_list, has_plain_result
from .source import body_lines

if TYPE_CHECKING:
    from .traits import Runner


class Body:
    """The lines that call a backend's kernel for one boundary, and their constants."""

    __slots__ = ("constants", "options", "shape")

    def __init__(self, call: KernelCall, signature: CallSignature) -> None:
        entry, boundary, kernel, prefix = call.entry, call.boundary, call.kernel, call.prefix
        specialized, below = call.specialized, call.below
        #: The boundary, the number of values before the arguments, and the arguments whose value a kernel serves.
        self.shape: tuple[Boundary, int, list[int]] = boundary, len(prefix), [index for index, _, _ in specialized]
        in_order = not prefix and takes_in_order(kernel, signature)
        self.options: dict[str, Any] = {
            "declines": below is not None,
            "is_short": call.is_short,
            "itself": call.itself,
            "in_order": in_order,
        }
        count = len(signature.results)

        def who() -> str:
            return entry.describe_kernel(boundary.key)

        def several(value: object) -> object:
            if isinstance(value, (tuple, list)) and len(value) == count:
                return value
            raise bad_count(signature.name, count, value, who())

        def as_list(value: object) -> object:
            if isinstance(value, (tuple, list)):
                return value
            raise bad_list(signature.name, value, who())

        def refuse_declined() -> None:
            raise declined_error(signature.name, who())

        def unequal(value: object, base: Sized) -> None:
            raise bad_count(signature.name, len(base), value, who())

        self.constants: dict[str, Any] = {
            "__kernel": kernel,
            "__array": boundary.array_type,
            "__coerce": make_coercer(boundary, signature.name, who),
            "__view_of": make_view_checker(boundary, signature.name, who),
            "__several": several,
            "__list": as_list,
            "__unequal": unequal,
            "__op": entry.op,
        }
        if below is not None:
            self.constants |= {"__run_below": below, "__declined": NotImplemented}
        elif has_plain_result(signature):
            self.constants |= {"__refuse_declined": refuse_declined, "__declined": NotImplemented}
        self.constants |= {f"__before{number}": value for number, value in enumerate(prefix)}
        for number, (_, only, special) in enumerate(specialized):
            self.constants |= {f"__only{number}": only, f"__special{number}": special}
        frontend = boundary.frontend
        if frontend is not None:
            self.constants |= {"__new": frontend.new, "__rebind": frontend.rebind}
            if frontend.views is not None:
                self.constants |= {"__view": frontend.views.view, "__views": frontend.views.views}
            if frontend.writes is not None:
                self.constants["__mutated"] = frontend.writes.note_write

    def lines(self, signature: CallSignature) -> list[str]:
        """Return the lines, with the arguments' names as ``signature`` has them; the constants are complete then."""
        views = self.find_view_code(signature)
        for view in views:
            self.constants |= view.constants
        return body_lines(signature, *self.shape, **self.options, views=views)

    def find_view_code(self, signature: CallSignature) -> list[ViewCode]:
        """Return how code makes views instead of the frontend's `view`, which may know only after a first view."""
        boundary = self.shape[0]
        frontend = boundary.frontend
        if frontend is None or frontend.views is None or not (boundary.array_types and boundary.mutable):
            return []
        is_view = any(result.kind == "view" and not result.is_list for result in signature.results)
        return frontend.views.view_code(self.constants["__op"], boundary.mask) if is_view else []

    def lines_of_tensors(self, signature: CallSignature, frontend: Frontend[Any]) -> list[str] | None:
        """Return the same lines with the array that they return made a tensor; None where they may call another runner."""
        boundary, prefix, specialized = self.shape
        if self.options["declines"]:
            return None
        return body_lines(signature, replace(boundary, frontend=frontend), prefix, specialized, **self.options)


def takes_in_order(kernel: Runner, signature: CallSignature) -> bool:
    """Return whether a kernel can take every argument by position: keyword-only ones too, if it has them in that order."""
    if not any(parameter.keyword_only for parameter in signature.parameters):
        return True
    if type(kernel) is not FunctionType:
        return False
    code = kernel.__code__
    names = tuple(parameter.name for parameter in signature.parameters)
    further = code.co_argcount - len(names)
    if further < 0 or further > len(kernel.__defaults__ or ()):
        return False
    return code.co_varnames[: len(names)] == names and not code.co_posonlyargcount
