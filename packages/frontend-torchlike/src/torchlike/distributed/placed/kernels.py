"""The kernels of tensors over several processes: operators are run on parts, as the table of dimensions says.

Note [Calls on parts]
    A rule of the table says how the arguments have to lie; those that lie otherwise are moved, the operator runs on the
    parts, and the results are tensors again. Without a rule a composite is taken apart, and any other operator has its
    arguments gathered. One that writes keeps the place of what it writes to: where it has to run elsewhere, its result is
    moved back and copied. Ordinary tensors of one element stand for themselves in each process; others are refused, as
    torch does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import dispatch_core as dc
from dispatch_aten.placements import Replicate
from dispatch_core import frontends

from ...history.grad_mode import no_grad
from ...tensors.tensor import Tensor, frontend
from .composites import MADE
from .draws import find_draw
from .moves import move
from .ordinary import are_whole, run_composite
from .places import KERNELS
from .plans import PartOperator
from .rewrites import find_rewrite
from .tensor import DISTRIBUTED, PlacedData, Spec

__all__ = ["register"]

_aten: Final = dc.ops.aten
_wrap: Final = frontend.wrap


def run(operator: PartOperator, values: Sequence[Any]) -> Any:
    """Run an operator on the parts of its tensors; see Note [Calls on parts]."""
    given, first = _find_parts(operator, values)
    plan = operator.find_plan(values, given)
    parts = [each[2] for each in given]
    if plan.moves:
        plan.prepare(operator.op.name, parts)
    written = given[0][2] if plan.is_written_back else None
    if written is not None and parts[0] is written:
        parts[0] = _aten.clone(written)
    arguments = list(values)
    for (index, place, *_), part in zip(given, parts, strict=True):
        if place is None:
            arguments[index] = part
        else:
            if arguments[index] is values[index]:
                arguments[index] = list(values[index])
            arguments[index][place] = part
    for index, value in plan.new_values.items():
        arguments[index] = value
    found = operator.call(arguments)
    if written is not None:
        source = plan.spec_of(0, parts[0])
        _aten.copy_(written, move(parts[0], source, given[0][3]))
    signature = operator.signature
    if len(signature.results) == 1:
        return _leave(0, signature.results[0], found, values, plan, first)
    return signature.pack(
        [
            _leave(index, result, each, values, plan, first)
            for index, (result, each) in enumerate(zip(signature.results, signature.unpack(found), strict=True))
        ]
    )


def _find_parts(operator: PartOperator, values: Sequence[Any]) -> tuple[list[tuple[int, int | None, Any, Spec]], type]:
    """Return the tensors of a call, and the class of the first record."""
    given: list[tuple[int, int | None, Any, Any]] = []
    first: Any = None
    ordinary = mixed = False
    for index, is_list in operator.tensors:
        value = values[index]
        if value is None:
            continue
        for place, each in enumerate(value) if is_list else ((None, value),):
            if each is None:
                continue
            data = each._dispatch_data
            if not isinstance(data, PlacedData):
                given.append((index, place, each, None))
                ordinary = True
                continue
            spec: Spec = data.spec  # type: ignore[attr-defined]  # a record of the layout has it
            if first is None:
                first = data
            elif spec.mesh is not first.spec.mesh:
                mixed = True
            given.append((index, place, data.local, spec))  # type: ignore[attr-defined]
    assert first is not None  # the call has come under the layout's key
    if mixed:
        given = _on_one_mesh(operator, given)
    if ordinary:
        spec = next(each[3] for each in given if each[3] is not None)
        given = [each if each[3] is not None else _accept(operator, each, spec) for each in given]
    return given, type(first)


def _on_one_mesh(operator: PartOperator, given: list[Any]) -> list[Any]:
    """Return a call's tensors on the mesh that the meshes of all are parts of."""
    meshes = {each[3].mesh for each in given if each[3] is not None}
    roots = {each.root for each in meshes}
    if len(meshes) == 1:
        return given
    if len(roots) > 1:
        raise RuntimeError(
            f"{operator.op.name}: found tensors on different meshes, {', '.join(map(str, meshes))}\n"
            "Hint: redistribute works on one mesh; full_tensor() and distribute_tensor lead to another"
        )
    (root,) = roots
    return [
        each if each[3] is None else (*each[:3], Spec(root, _placements_on(root, each[3]), each[3].size))
        for each in given
    ]


def _placements_on(root: Any, spec: Spec) -> list[Any]:
    made: list[Any] = [Replicate()] * root.ndim
    for dim, placement in zip(spec.mesh.dims, spec.placements, strict=True):
        made[dim] = placement
    return made


def _accept(operator: PartOperator, each: Any, spec: Spec) -> Any:
    """Return an ordinary tensor of a call as one that lies whole in each process; only one element is taken for that."""
    size = tuple(dc.shape(each[2]))
    if (any(length != 1 for length in size) and not are_whole()) or each[0] in operator.writes:
        raise RuntimeError(
            f"{operator.op.name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before"
            " calling distributed operators!\nHint: distribute_tensor(x, mesh, [Replicate()]) converts one"
        )
    return (*each[:3], Spec(spec.mesh, (Replicate(),) * spec.mesh.ndim, size))


def _leave(index: int, result: Any, found: Any, values: Sequence[Any], plan: Any, record: type) -> Any:
    kind = result.kind
    if kind == "self":
        return values[result.source]
    if kind == "other" or found is None:
        return found
    if result.is_list:
        return [each if each is None else _wrap(record(each, plan.spec_of(index, each))) for each in found]
    return _wrap(record(found, plan.spec_of(index, found)))


def _run_out(operator: PartOperator, functional: PartOperator, values: Sequence[Any]) -> Any:
    """Run the functional operator, and copy its results to the tensors of ``out=``."""
    by_name = dict(zip(operator.names, values, strict=True))
    made = functional.op(
        *[by_name[name] for name in functional.names[: functional.split]],
        **{name: by_name[name] for name in functional.keywords},
    )
    targets = [values[index] for index in operator.writes]
    for target, each in zip(targets, functional.signature.unpack(made), strict=True):
        if not isinstance(target._dispatch_data, PlacedData):
            _accept(operator, (operator.writes[0], None, target, None), each._dispatch_data.spec)
        if target.shape == each.shape:
            _aten.copy_(target, each)
        else:
            _become(target, each._dispatch_data)
    return operator.signature.pack(targets)


def _become(target: Tensor, record: Any) -> Tensor:
    target._dispatch_data = record
    target._count_write()
    return target


def _refuse(operator: PartOperator, values: Sequence[Any]) -> NoReturn:
    raise NotImplementedError(
        f"{operator.op.name}: it changes the memory of a tensor, of which each process has a part\n"
        "Hint: to_local() has this process's, and from_local makes a tensor of it"
    )


#: Operators with derivatives that are made of others, and of tensors that they make.
_MAKES_TENSORS: Final = (
    "_pack_padded_sequence _pad_packed_sequence affine_grid_generator combinations embedding_bag embedding_bag.padding_idx"
    " linalg_householder_product multi_margin_loss multilabel_margin_loss mvlgamma orgqr ormqr pdist segment_reduce"
    " special_multigammaln"
).split()
#: Operators that make another tensor of one's memory.
_OF_MEMORY: Final = frozenset("set_ resize_ as_strided_ resize_as_".split())


def _make(op: Any, keyset: object) -> Callable[..., Any]:
    """Return the kernel of an operator, which takes its arguments in order."""
    operator = PartOperator(op)
    base = op.packet.name.partition("::")[2]
    if base in _OF_MEMORY:
        return _of_values(_refuse, operator)
    functional = frontends.find_functional(op) if operator.writes else None
    if functional is not None and "inplace_view" in op.tags:
        other = functional
        return lambda *values: _become(values[0], other(*values)._dispatch_data)
    if functional is not None and all(operator.signature.parameters[index].keyword_only for index in operator.writes):
        return _of_values(_run_out, operator, PartOperator(functional))
    if (special := find_draw(operator) or find_rewrite(operator)) is not None:
        return _of_values(special, operator, run)
    names = {each.name for each in dc.registry.get(op.name).kernels}
    if operator.rule is None and "CompositeImplicitAutograd" in names:
        if functional is not None:
            return _of_values(_write_functional, PartOperator(functional))
        composite = frontends.find_composite(op, "CompositeImplicitAutograd")
        if composite is not None and not operator.writes:
            return _of_values(run_composite, composite)
    return _of_values(run, operator)


def _make_composite(op: Any, keyset: object) -> Callable[..., Any]:
    """Return the kernel of an operator with a history that makes ordinary tensors besides."""
    composite = frontends.find_composite(op, "CompositeImplicitAutograd")
    return lambda *values: run_composite(composite, values)


def _write_functional(functional: PartOperator, values: Sequence[Any]) -> Any:
    """Write to an argument what the operator returns that does not write."""
    return _aten.copy_(values[0], functional.call(values))


def _of_values(function: Callable[..., Any], operator: Any, *more: Any) -> Callable[..., Any]:
    def kernel(*values: Any) -> Any:
        with no_grad():
            return function(operator, *more, values)

    return kernel


class _PlacedKernels(dc.KernelFactory):
    #: What the schema calls a view is one where the part is.
    answers_for_results = True


@DISTRIBUTED.for_each_key
def register(key: Any) -> None:
    """Register the kernels under the key of a device."""
    with dc.registry.transaction(level="backend"):
        others = dc.Library("_", "IMPL")
        others.fallback(_PlacedKernels(_make, in_order=True), key.name)
        aten = dc.Library("aten", "IMPL", key.name)
        for name, kernel in MADE.items():
            aten.impl(name, kernel)
        own = dc.Library("dispatch", "IMPL", key.name)
        for name, kernel in KERNELS.items():
            own.impl(name, kernel)
        _libraries.extend([others, aten, own])


_libraries: Final[list[dc.Library]] = []
assert DISTRIBUTED.autograd_key is not None  # a layout of its own prefix has one
with dc.registry.transaction(level="backend"):
    _with_history: Final = dc.Library("aten", "IMPL", DISTRIBUTED.autograd_key.name)
    for _name, _kernel in MADE.items():
        _with_history.impl(_name, _kernel)
    for _name in _MAKES_TENSORS:
        _with_history.impl(_name, dc.kernel_factory(_make_composite, in_order=True))
