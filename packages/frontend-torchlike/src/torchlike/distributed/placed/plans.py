"""The work of a call on this process's parts: made of the table of dimensions once for each way that its tensors lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.placements import USED, Call, Choice, Dims, Replicate, Shard, choose, find_rule
from dispatch_core import frontends

from .gather_counts import note_gather
from .moves import move
from .tensor import Spec

__all__ = ["PartOperator", "PartPlan", "name_of"]


def name_of(op: Any) -> str:
    """Return an operator's name without its namespace, as the table of dimensions has it: that of the functional one."""
    schema_name = op.name.partition("::")[2]
    base, _, overload = schema_name.partition(".")
    if base.endswith("_") and not base.endswith("__") and any(each.is_write for each in op.schema.arguments):
        base = base[:-1]
    return f"{base}.{overload or 'default'}"


class PartOperator:
    """An operator: where its tensors stand among its arguments, and the plans of its calls."""

    _most: Final = 4096

    def __init__(self, op: Any) -> None:
        self.op, self.name = op, name_of(op)
        self.signature = frontends.call_signature(op)
        parameters = self.signature.parameters
        #: The arguments that may be tensors, each with whether it is a list.
        self.tensors = tuple((index, "list" in each.tensors) for index, each in enumerate(parameters) if each.tensors)
        self.names = tuple(each.name for each in parameters)
        self.used = tuple(index for index, each in enumerate(parameters) if each.name in USED and not each.tensors)
        self.split = next((index for index, each in enumerate(parameters) if each.keyword_only), len(parameters))
        self.keywords = tuple(each.name for each in parameters[self.split :])
        self.writes = self.signature.writes
        self.tags = frozenset(op.tags)
        tensor_results = [each for each in self.signature.results if each.kind != "other"]
        self.has_results = bool(tensor_results)
        is_of_aten = op.name.startswith("aten::")
        self.rule = (
            find_rule(self.name, self.tags, len(self.signature.results)) if is_of_aten and self.has_results else None
        )
        #: The argument that is a list of indices.
        self.indices = next(
            (index for index, is_list in self.tensors if is_list and self.names[index] == "indices"), None
        )
        self.plans: dict[Any, PartPlan] = {}

    def call(self, values: Sequence[Any]) -> Any:
        """Call the operator with all arguments in the schema's order."""
        return self.op(*values[: self.split], **dict(zip(self.keywords, values[self.split :], strict=True)))

    def find_plan(self, values: Sequence[Any], given: list[tuple[int, int | None, Any, Spec]]) -> PartPlan:
        """Return the plan of a call; ``given`` are its tensors: the argument, the place in a list, the part and the spec."""
        used: list[Any] = []
        for index in self.used:
            value = values[index]
            used.append(tuple(value) if type(value) is list else value)
        if self.indices is not None:
            used += map(_kind, values[self.indices])
        key = (*[(each[0], each[3]) for each in given], *used)
        if (found := self.plans.get(key)) is None:
            if len(self.plans) >= self._most:
                self.plans.clear()
            found = self.plans[key] = PartPlan(self, values, given)
        return found

    def describe(self, values: Sequence[Any], given: list[tuple[int, int | None, Any, Spec]]) -> Dims | None:
        """Return the dimensions of a call; None where no rule says it."""
        if self.rule is None:
            return None
        places = {index: number for number, (index, _) in enumerate(self.tensors)}
        found = {self.names[index]: values[index] for index in self.used}
        if self.indices is not None:
            found["indices"] = [_kind(each) for each in values[self.indices]]
        shapes = tuple(spec.size for *_, spec in given)
        return self.rule(Call(shapes, tuple(places[each[0]] for each in given), found))


class PartPlan:
    """A call of an operator: which parts are moved before, what other arguments become, and where results lie."""

    def __init__(
        self, operator: PartOperator, values: Sequence[Any], given: list[tuple[int, int | None, Any, Spec]]
    ) -> None:
        self.operator = operator
        specs = [each[3] for each in given]
        self.mesh = mesh = specs[0].mesh
        dims = operator.describe(values, given)
        target = specs[0].placements if operator.writes else None
        found = None
        if dims is not None:
            shapes, placements = [each.size for each in specs], [each.placements for each in specs]
            found = choose(dims, shapes, placements, mesh.shape, target=target)
            if found is None:
                found = choose(dims, shapes, placements, mesh.shape)
        self.has_rule = found is not None
        if found is None:
            whole = (Replicate(),) * mesh.ndim
            results = len(operator.signature.results)
            found = Choice((whole,) * len(specs), (whole,) * max(results, 1))
            dims = Dims(tuple((None,) * len(each.size) for each in specs), ((),) * results)
        assert dims is not None
        unread = dims.unread
        #: The tensors that are moved: their rank, and the specs before and after.
        self.moves = [
            (rank, spec, Spec(mesh, wanted, spec.size))
            for rank, (spec, wanted) in enumerate(zip(specs, found.inputs, strict=True))
            if spec.placements != wanted and rank not in unread
        ]
        #: Those of them that are gathered where each process has a part, in elements.
        self.gathered = [(rank, prod(wanted.local_size)) for rank, spec, wanted in self.moves if _gathers(spec, wanted)]
        self.outputs = found.outputs
        self.sizes = [
            self._find_sizes(dims, specs, labels, each)
            for labels, each in zip(dims.outputs, self.outputs, strict=False)
        ]
        parts = [Spec(mesh, wanted, spec.size).local_size for spec, wanted in zip(specs, found.inputs, strict=True)]
        self.new_values = self._localize(dims, values, parts)
        #: Whether what is written to lies elsewhere during the call, and is written to after it.
        self.is_written_back = bool(operator.writes) and (
            not self.has_rule or any(rank == 0 for rank, *_ in self.moves) or self.outputs[0] != target
        )
        self._specs: dict[tuple[int, tuple[int, ...]], Spec] = {}

    def prepare(self, name: str, parts: list[Any]) -> None:
        """Move the parts that have to be moved."""
        for rank, elements in self.gathered:
            note_gather(name, self.mesh, parts[rank], elements, has_rule=self.has_rule)
        for rank, source, target in self.moves:
            parts[rank] = move(parts[rank], source, target)

    def spec_of(self, index: int, local: Any) -> Spec:
        """Return the spec of a result by its number and this process's part of it."""
        shape = dc.shape(local)
        found = self._specs.get((index, shape))
        if found is None:
            sizes = self.sizes[index]
            size = [sizes.get(dim, each) for dim, each in enumerate(shape)]
            found = self._specs[index, shape] = Spec(self.mesh, self.outputs[index], size)
        return found

    def _find_sizes(self, dims: Dims, specs: list[Spec], labels: Any, placements: Any) -> dict[int, int]:
        """Return the whole sizes of the dimensions at which a result is cut."""
        known: dict[Any, int] = {}
        for spec, names in zip(specs, dims.inputs, strict=True):
            known.update(zip(names, spec.size, strict=False))
        known.update(dims.sizes)
        return {each.dim: known[labels[each.dim]] for each in placements if isinstance(each, Shard)}

    def _localize(self, dims: Dims, values: Sequence[Any], parts: Sequence[tuple[int, ...]]) -> dict[int, Any]:
        """Return the arguments that say the shape of a result, or a size, as this process's part has it."""
        found: dict[int, Any] = {}
        for name, label in dims.counts.items():
            rank, dim = next((rank, each.index(label)) for rank, each in enumerate(dims.inputs) if label in each)
            found[self.operator.names.index(name)] = parts[rank][dim]
        for name, result in dims.shapes.items():
            sizes = self.sizes[result]
            if sizes:
                index = self.operator.names.index(name)
                shape = list(values[index])
                whole = [sizes.get(dim, 1) for dim in range(len(shape))]
                part = Spec(self.mesh, self.outputs[result], whole).local_size
                found[index] = [part[dim] if dim in sizes and size != -1 else size for dim, size in enumerate(shape)]
        return found


def _kind(index: Any) -> Any:
    """Return of which kind an index is: None, numbers (True) or a mask."""
    return index if index is None else "mask" if dc.dtype(index) in (ScalarType.Bool, ScalarType.Byte) else True


def _gathers(source: Spec, target: Spec) -> bool:
    return any(
        isinstance(one, Shard) and isinstance(other, Replicate) and count > 1
        for one, other, count in zip(source.placements, target.placements, source.mesh.shape, strict=True)
    )
