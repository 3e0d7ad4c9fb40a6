"""The level of `functionalize`: writes become new values, and views are made again of the values.

Note [Writes as values]
    The data of the level's tensors are records that cannot be written, so they are treated as the arrays of a device whose
    arrays cannot be (`history.rebinding`): a write computes the functional overload and gives the tensor another record; one
    to a view is carried to the base by the inverses of the views (`dispatch_aten.write_through`), and all views of the base
    are made again. A tensor from outside that is written to is given its last value when the level ends, by one ``copy_``.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final
from weakref import ref

import dispatch_core as dc
from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import RULES, RULES_ON_EXPANDED, TensorMeta, check_written, is_expanded
from dispatch_core import frontends

from ...history.rebinding import check_expanded, rebind
from ...tensors.tensor import Tensor, frontend
from ..calls import call_in_order, map_tensors, tensors_of, written_tensors
from ..stack import TransformLevel, below
from ..tensors import NESTED, on_values, wrap_value
from .functional_data import Functional, describe, make_functional
from .functional_operators import find_copy, find_differentiable, functional_of
from .outside_tensors import OutsideTensors
from .sparse_parts import SparseParts, is_sparse


class FunctionalLevel(TransformLevel):
    """A level of `functionalize`, with the tensors from outside that were used in it."""

    kind: ClassVar[str] = "functionalize"

    def __init__(self, *, removes_views: bool = False, settles: bool = False) -> None:
        super().__init__()
        self.removes_views = removes_views
        self._outside = OutsideTensors(self.hold)
        #: The tensors of a block whose end lets them be ordinary ones; see `settle`.
        self._made: list[ref[Tensor]] | None = [] if settles else None
        self._parts = SparseParts(self._outside.enter, self._outside.is_written)
        #: Whether records are computed with, instead of tensors.
        self._is_rebinding = False

    def open_closed(self, tensor: Any) -> Any:
        return tensor._dispatch_data.value

    def enter(self, value: Any) -> Any:
        """Return the level's tensor for one from outside; the level's own, and anything but a tensor, as it is."""
        if not isinstance(value, Tensor) or self.owns(value) or is_sparse(value):
            return value
        return on_values(self._outside.enter, value)

    def leave(self, value: Any) -> Any:
        """Return the tensor outside for one of the level, once that is closed and written back; anything else as it is."""
        if isinstance(value, Tensor) and value._dispatch_mask & NESTED:
            return on_values(self.leave, value)
        return self._outside.leave(value) if self.owns(value) else value

    def write_back(self) -> None:
        """Write the last values of the tensors from outside to them; the level is closed."""
        self._outside.write_back()

    def settle(self) -> None:
        """Turn the level's live tensors into ordinary tensors, once it is closed and written back."""
        for made in self._made or ():
            tensor = made()
            if tensor is None or not self.owns(tensor):
                continue
            outside = self.leave(tensor)
            state = getattr(outside, "_autograd", None)
            if state is None and hasattr(tensor, "_autograd"):
                del tensor._autograd
            elif state is not None:
                tensor._autograd = state
            tensor._dispatch_data, tensor._dispatch_mask = outside._dispatch_data, outside._dispatch_mask

    def value_of(self, tensor: Any) -> Any:
        """Return the value of a tensor of the level, or of a record; of one from outside that of its stand-in."""
        if isinstance(tensor, Functional):
            return tensor.value
        if not isinstance(tensor, Tensor):
            return frontend.wrap(tensor)
        if is_sparse(tensor):
            self._parts.use(tensor)
            return tensor
        return self.enter(tensor)._dispatch_data.value

    def hold(self, value: Any) -> Tensor:
        """Return a tensor of the level for a new value."""
        return self._wrap(make_functional(value, self))

    def call(self, keyset: Any, op: Any, values: tuple[Any, ...]) -> Any:
        signature = frontends.call_signature(op)
        if not any(True for _ in tensors_of(op, values)):
            return self._make_tensor(op, values)
        composite = frontends.find_composite(op, "CompositeImplicitAutograd")
        if composite is not None and functional_of(op) is None:
            # It may write to an argument of which the schema does not say so, as that of batch_norm.
            return self._return_given(composite(*values), op, values)
        if not signature.writes:
            is_view = any(
                result.kind == "view" and not is_sparse(values[result.source]) for result in signature.results
            )
            return self._view(op, values) if is_view else self._compute(op, values)
        functional = None if "inplace_view" in op.tags else functional_of(op) or frontends.find_functional(op)
        if functional is None or any(each.kind == "view" for each in frontends.call_signature(functional).results):
            return self._write_by_parts(op, values)
        return self._write(op, functional, values)

    def _return_given(self, found: Any, op: Any, values: tuple[Any, ...]) -> Any:
        """Return a composite's result; a tensor from outside itself where that is its stand-in."""
        return next((each for each in tensors_of(op, values) if found is not each and self.enter(each) is found), found)

    def _make_tensor(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call without tensors: one that makes a tensor makes one of the level."""
        with below():
            found = call_in_order(op, values)
        if frontends.call_signature(op).device_index is None or not (
            isinstance(found, Tensor) or frontends.array_type(found)
        ):
            return found
        return self._hold(found, None, self._is_rebinding)

    def _run(self, op: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run a call on the values; return one result for each that the schema promises."""
        # Random numbers are drawn in the order in which the elements lie in memory.
        given = map_tensors(op, self._in_place if op.namespace == "functionalize" else self.value_of, values)
        op = find_differentiable(op)
        with below():
            if self.removes_views and any(each.kind == "view" for each in frontends.call_signature(op).results):
                op = find_copy(op)
            return frontends.call_signature(op).unpack(call_in_order(op, given))

    def _in_place(self, tensor: Tensor) -> Any:
        """Return the value of a tensor, its elements in memory in the order that the program sees."""
        data: Functional = self.enter(tensor)._dispatch_data
        if not data.is_displaced:
            return data.value
        strides = data.meta.strides
        order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
        back = sorted(range(len(order)), key=order.__getitem__)
        with below():
            return data.value.permute(order).contiguous().permute(back)

    def _find_layouts(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Return the layouts of a call's results by its shape rule, which also refuses bad calls; None without a rule."""
        signature, name = frontends.call_signature(op), op.name.removeprefix("aten::")
        if any(map(is_sparse, tensors_of(op, values))):
            return None  # the rules are those of strided tensors
        described = map_tensors(op, lambda tensor: describe(self.enter(tensor)), values)
        rule = RULES.get(name)
        for index in signature.writes:
            layout = described[index]
            if isinstance(layout, TensorMeta) and is_expanded(layout):
                rule = RULES.get(RULES_ON_EXPANDED.get(name, name))
                if signature.parameters[index].keyword_only:
                    check_written(layout, signature.parameters[index].name)
        if rule is None:
            return None
        positional, keywords = signature.split(described)
        return rule(*positional, **keywords)

    def _is_displaced(self, tensor: Any) -> bool:
        data = getattr(tensor, "_dispatch_data", tensor)
        return isinstance(data, Functional) and data.is_displaced

    def _compute(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call that neither writes nor returns a view."""
        if op.namespace == "sparse" or any(map(is_sparse, tensors_of(op, values))):
            return self._compute_sparse(op, values)
        signature = frontends.call_signature(op)
        is_raw = any(isinstance(tensor, Functional) for tensor in tensors_of(op, values))
        layouts: Any = None
        if any(map(self._is_displaced, tensors_of(op, values))):
            layouts = self._find_layouts(op, values)
        if not isinstance(layouts, tuple):
            layouts = (layouts,) * len(signature.results)
        results = []
        for result, each, layout in zip(signature.results, self._run(op, values), layouts, strict=True):
            if result.kind == "other" or each is None:
                results.append(each)
            elif result.is_list:
                results.append([None if one is None else self._hold(one, None, is_raw) for one in each])
            else:
                results.append(self._hold(each, layout if isinstance(layout, TensorMeta) else None, is_raw))
        return signature.pack(results)

    def _compute_sparse(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call with sparse tensors, or one that makes one; see Note [Parts of sparse tensors]."""
        given = list(tensors_of(op, values))

        def keep(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [keep(each) for each in value]
            if not isinstance(value, Tensor):
                return value
            part = self._parts.find(value, given)
            return self._hold(value, None, False) if part is None else part

        return frontends.call_signature(op).pack([keep(each) for each in self._run(op, values)])

    def _hold(self, value: Any, layout: TensorMeta | None, is_raw: bool) -> Any:
        data = make_functional(value, self, layout)
        return data if is_raw else self._wrap(data)

    def _wrap(self, data: Functional) -> Tensor:
        made = wrap_value(Functional, data.value, self)
        made._dispatch_data = data
        return self._note(made)

    def _view(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run a call that returns views of its first tensor."""
        (result,) = frontends.call_signature(op).results
        base = values[result.source]
        is_raw = not isinstance(base, Tensor)
        if not is_raw:
            base = self.enter(base)
        data = base if is_raw else base._dispatch_data
        has_strides = dc.has_strides(data.value)
        if result.is_list and not has_strides:
            composite = frontends.find_composite(op, "CompositeExplicitAutograd")
            if composite is not None:  # of slices, which tell where in the tensor they lie
                return composite(*values)
        name = op.name.removeprefix("aten::")
        if name == "as_strided":
            self._check_places(base)
        layouts = self._find_layouts(op, values)
        if not has_strides:
            layouts = None  # they are row-major, whatever a rule says
        function, given = op, (data.value, *values[1:])
        with below():
            if data.is_displaced and name == "view":
                function = dc.ops.aten.reshape.default
            elif data.is_displaced and name in _BY_STRIDES:
                given = (data.value.contiguous(), *values[1:])
            if self.removes_views:
                function = find_copy(function)
            found = call_in_order(function, given)
        call = (base, *values[1:])
        if not result.is_list:
            record = make_functional(found, self, layouts)
            return record if is_raw else self._note(frontend.views.view(base, record, op, call))  # type: ignore[union-attr]
        records = [
            make_functional(each, self, layout)
            for each, layout in zip(found, layouts or (None,) * len(found), strict=True)
        ]
        return records if is_raw else [self._note(each) for each in frontend.views.views(base, records, op, call)]  # type: ignore[union-attr]

    def _note(self, made: Tensor) -> Tensor:
        if self._made is not None:
            self._made.append(ref(made))
        return made

    def _check_places(self, base: Any) -> None:
        """Refuse ``as_strided`` of a tensor whose elements do not lie in order, as the inverse counts them."""
        layout = describe(base)
        chain = base._state.chain if isinstance(base, Tensor) else None
        if chain is not None or not layout.is_contiguous or layout.storage_offset:
            raise OperatorError(
                "under functionalize, as_strided takes a contiguous tensor that is not a view of another",
                operator="aten::as_strided",
                argument="self",
                hint="call it on a clone, or use another view",
            )

    def _write_by_parts(self, op: Any, values: tuple[Any, ...]) -> Any:
        """Run the composite of a call that no functional overload computes."""
        if "inplace_view" in op.tags:
            for tensor in written_tensors(op, values):
                if not self.owns(tensor) or self._outside.is_one(tensor):
                    raise OperatorError(
                        "functionalize cannot change the shape or the strides of a tensor from outside the function",
                        operator=op.name,
                        argument="self",
                        hint="make a view of it: a name without the last underscore",
                    )
        for key in _COMPOSITES:
            composite = frontends.find_composite(op, key)
            if composite is not None:
                composite(*map_tensors(op, self.enter, values))
                return self._return_written(op, values)
        raise OperatorError(
            "the operator writes to its arguments, and neither a functional overload nor a composite tells what it writes",
            operator=op.name,
            hint="define one that returns the values: the same name without the last underscore",
        )

    def _write(self, op: Any, functional: Any, values: tuple[Any, ...]) -> Any:
        """Compute the values that a call writes, and give the tensors their new values."""
        signature = frontends.call_signature(op)
        for tensor in written_tensors(op, values):
            if is_sparse(tensor):
                raise OperatorError(
                    "functionalize cannot write to a sparse tensor",
                    operator=op.name,
                    hint="use a name without the last underscore",
                )
            if self.enter(tensor)._state.expanded:
                check_expanded(op.name)
        layouts = self._find_layouts(op, values)
        names = {argument.name for argument in functional.schema.arguments}
        pairs = zip(signature.parameters, values, strict=True)
        found = self._run(functional, tuple(value for parameter, value in pairs if parameter.name in names))
        if any(map(is_sparse, found)):  # the product of a strided tensor with a sparse one
            with below():
                found = tuple(each.to_dense() for each in found)
        targets = [values[result.source] for result in signature.results]
        described = layouts if isinstance(layouts, tuple) else (layouts,) * len(targets)
        for target, value, layout in zip(targets, found, described, strict=True):
            if isinstance(target, (list, tuple)):
                for one, each in zip(target, value, strict=True):
                    self._give(one, each, None)
            elif target is not None:
                self._give(target, value, layout)
        return self._return_written(op, values)

    def _return_written(self, op: Any, values: tuple[Any, ...]) -> Any:
        signature = frontends.call_signature(op)
        return signature.pack([values[result.source] for result in signature.results])

    def _give(self, tensor: Tensor, value: Any, layout: TensorMeta | None) -> None:
        """Set a tensor to another value, and make its views again; see Note [Writes as values]."""
        inner = self.enter(tensor)
        self._parts.check_write(inner)
        self._outside.note_write(inner)
        data: Functional = inner._dispatch_data
        is_resized = layout is not None and layout.shape != data.meta.shape
        before, self._is_rebinding = self._is_rebinding, True
        try:
            rebind(inner, make_functional(value, self, layout if is_resized else data.meta))
        finally:
            self._is_rebinding = before
        inner._count_write()


#: Views that go by strides; of a value with other ones than the program sees, of a copy in order.
_BY_STRIDES: Final = frozenset({"as_strided", "view.dtype", "view_as_complex", "view_as_real"})
_COMPOSITES: Final = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
