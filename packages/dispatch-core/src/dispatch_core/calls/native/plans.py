"""Plans and targets of the compiled front: how a function's arguments are written, and how a runner is run.

See Note [A compiled front] in `native`. Everything here is read off the signature, the adapter and the body that generated
code is written of. Kinds are numbers that the front has, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from ..._record import replace
from ...arrays.frontend import FRONTENDS, Frontend, is_bare, on_frontends
from ...arrays.owners import TYPE_MASKS
from ...arrays.protocols import RecordedCall
from ...keys import context
from ...keys.table import AUTOGRAD, MARKERS
from ...tracebacks import trim_traceback
from ..adapters import SignatureAdapter, adapt_signature
from ..argument_checks import INT_LIST
from ..boundary import frontend_of_type
from ..emit import define, make_function
from ..overriding import CLASSES, MODES
from ..signature import CallParameter, CallSignature
from ..source import makes_tensors
from . import find_front

if TYPE_CHECKING:
    from ...operators.call_tables import Tables
    from ...operators.entry import OperatorEntry
    from ..bodies import Body
    from ..traits import Runner

#: Kinds of parameters.
TENSOR, OPTIONAL_TENSOR, LIST, OPTIONAL_LIST, INT, FLOAT, BOOL, SCALAR, INTS, SCALAR_TYPE, DEVICE, ANY, OTHER = range(
    1, 14
)
#: Ways to run a target.
ASIDE, CALL, BODY, RECORD, LATER, HANDLE = range(6)
#: Kinds of results.
FRESH, VIEW, WRITTEN, PLAIN, VIEWS = range(5)
#: Parts of the value of a view's attribute, by the names that `ViewCode.parts` has for them.
PARTS: Final = {
    name: number for number, name in enumerate("constant base first called operator rest choice attribute made".split())
}

_OF_TENSORS: Final = {"tensor": TENSOR, "optional": OPTIONAL_TENSOR, "list": LIST, "optional_list": OPTIONAL_LIST}
_OF_TYPES: Final = {
    "int": INT,
    "SymInt": INT,
    "float": FLOAT,
    "bool": BOOL,
    "Scalar": SCALAR,
    "ScalarType": SCALAR_TYPE,
    "Device": DEVICE,
    "Any": ANY,
}
#: The most arguments, results, frontends, and kernels for one value of an argument, that the front has room for.
_ARGUMENTS, _RESULTS, _LAYOUTS, _SPECIAL, _RECIPES, _PARTS = 14, 6, 4, 3, 3, 8
_MASKS: Final = 1 << 64
_NUMBERS: Final = frozenset({int, float})

#: The frame of a call, and that of a runner below it, through which the front raises an error: as generated code has them.
_CALL_TEXT: Final = define(
    "__call(__e)", ["try:", "    __run(__e)", "except __error as __e:", "    __trim(__e)", "    raise"]
)
_RUN_TEXT: Final = define("__run(__e)", ["__raise(__e)"])


def layout_of(frontend: Frontend[Any]) -> Any:
    """Return where a frontend's tensors have their attributes, or None where these are no slots of its class."""
    front, cls = find_front(), frontend.tensor_type
    known = _layouts.get(cls)
    if known is None or known[0] is not frontend:
        try:
            found = front.Layout(cls, None if is_bare(frontend.new, cls) else frontend.new)
        except TypeError:
            found = None
        known = _layouts[cls] = frontend, found
    return known[1]


_layouts: Final[dict[type, tuple[Frontend[Any], Any]]] = {}


def _renew_plans() -> None:
    """Make plans again: they have the layouts of the frontends that there are."""
    if (front := find_front()) is not None:
        front.renew()


on_frontends(_renew_plans)


class CallPlan:
    """Makes the front of a function, and what it asks for: its plan, and the targets of runners."""

    __slots__ = ("adapter", "entry", "front", "throwers")

    def __init__(self, entry: OperatorEntry, adapter: SignatureAdapter | None, front: Any) -> None:
        self.entry, self.adapter, self.front = entry, adapter, front
        #: The functions that raise errors again, by their frames.
        self.throwers: dict[tuple[object, ...], Callable[[BaseException], object]] = {}

    def make_front(self, function: FunctionType) -> Any:
        """Return the object that serves calls in the place of a function."""
        return self.front.Front(function, self.make_plan)

    def forget(self, function: Any) -> None:
        """Make the plan of a front again: the schema is another one."""
        self.throwers.clear()
        self.front.forget(function)

    def forget_targets(self, function: Any) -> None:
        """Drop the runners that a front knows: the tables were emptied."""
        self.throwers.clear()
        self.front.forget_targets(function)

    def make_plan(self) -> Any:
        """Return the plan, or None where the front serves no call."""
        tables, adapter = self.entry.tables, self.adapter
        signature = tables.signature
        if signature is None or not signature.is_specializable:
            return None
        if makes_tensors(signature, adapter) and adapter is not None:
            return self._make_factory(tables, signature, adapter)
        if (
            not signature.has_tensors
            or len(signature.parameters) > _ARGUMENTS
            or signature.parameters[0].keyword_only
            or MODES >= _MASKS
        ):
            return None
        layouts = self._find_layouts()
        if not layouts and adapter is not None:
            return None
        spec = {
            "layouts": layouts,
            "table": tables.call,
            "masked": tables.masked,
            "make_target": partial(self.make_target, tables),
            "star": -1,
            "modes": 0,
            "numbers": None,
            "alone": None,
            "plain": None,
            "elsewhere": None,
            "types": None if adapter is not None else TYPE_MASKS,
        }
        if adapter is not None:
            if adapter.fill:
                return None
            signature = adapt_signature(signature, adapter)
            if adapter.star:
                spec["star"] = [each.name for each in signature.parameters].index(adapter.star)
            spec["alone"] = adapter.alone
            if adapter.slow_path_types:
                spec["elsewhere"] = adapter.slow_path_types
                spec["numbers"] = adapter.numbers if adapter.slow_path_types == _NUMBERS else None
            if adapter.override is not None:
                spec |= {"modes": MODES, "plain": adapter.plain_types}
        spec["positional"] = sum(not each.keyword_only for each in signature.parameters)
        spec["parameters"] = tuple([self._describe(each) for each in signature.parameters])
        return self.front.Plan(spec)

    def _make_factory(self, tables: Tables, signature: CallSignature, adapter: SignatureAdapter) -> Any:
        """Return the plan of a function that makes tensors of arrays, or None."""
        if not 0 < len(signature.parameters) <= _ARGUMENTS or adapter.alone is not None or adapter.slow_path_types:
            return None
        signature = adapt_signature(signature, adapter)
        names = [each.name for each in signature.parameters]
        spec = {
            "table": tables.call,
            "explicit": tables.explicit,
            "make_target": partial(self.make_factory_target, tables),
            "star": names.index(adapter.star) if adapter.star else -1,
            "positional": sum(not each.keyword_only for each in signature.parameters),
            "parameters": tuple([self._describe(each) for each in signature.parameters]),
            "fill": tuple([adapter.fill.get(name) for name in names]),
        }
        return self.front.Factory(spec)

    def make_factory_target(self, tables: Tables) -> Any:
        """Return how a tensor is made on the usual device, as callers have it compiled in; None while they have not.

        These are the runner that goes by the device, that device, the key of its own runner, the argument, and the target.
        """
        signature, select, adapter = tables.signature, tables.call.get(0), self.adapter
        choice = tables.traits_of(select).choice
        if signature is None or adapter is None or choice is None or self.entry.specialized_mask != 0:
            return None
        runner = choice.find()
        traits = tables.traits_of(runner)
        key = next((key for key, each in tables.explicit.items() if each is runner), None)
        if runner is None or key is None or traits.is_watched or traits.body is None or traits.body.options["declines"]:
            return None
        spec = make_body_spec(traits.body, signature, frontend_of_type(adapter.tensor_type))
        if spec is None or spec["kinds"] != (FRESH,):
            return None

        def thrower(is_native: bool) -> Callable[[BaseException], object]:
            return self.find_thrower(0, runner, is_native=is_native, below=None)

        common = {"way": BODY, "count": len(signature.parameters), "runner": runner, "thrower": thrower}
        return select, choice.home, key, choice.index, self.front.Target({**spec, **common})

    def _find_layouts(self) -> tuple[Any, ...]:
        cls = None if self.adapter is None else self.adapter.tensor_type
        found = [layout_of(each) for each in FRONTENDS.values() if cls is None or each.tensor_type is cls]
        return tuple([each for each in found if each is not None][:_LAYOUTS])

    def _describe(self, parameter: CallParameter) -> tuple[Any, ...]:
        kind = kind_of(parameter)
        if kind == ANY and self.adapter is not None and self.adapter.override is not None:
            kind = OTHER  # it may override the function
        one = None
        if kind == INTS and "[]" not in parameter.type:
            one = parameter.check(3)
            one = one if type(one) in (tuple, list) else None
        required = parameter.required
        # fmt: off
        return (
            parameter.name, kind, int(parameter.type.endswith("?")), int(required), int(parameter.keyword_only),
            None if required else parameter.default, one,
        )
        # fmt: on

    def make_target(self, tables: Tables, mask: int, runner: Runner) -> Any:
        """Return how a runner is run that one of the tables has for a mask; None where this call alone is Python's.

        The tables are those of the plan, and so of the schema by which the call was bound.
        """
        signature = tables.signature
        traits = tables.traits_of(runner)
        if signature is None or traits.is_watched:
            return None

        def thrower(is_native: bool) -> Callable[[BaseException], object]:
            return self.find_thrower(mask, runner, is_native=is_native, below=below)

        spec, way, below = None, CALL, None
        if self.adapter is not None and self.adapter.override is not None and mask & CLASSES:
            way = ASIDE
        elif traits.body is not None:
            spec, way = make_body_spec(traits.body, signature), BODY
        elif mask & AUTOGRAD and (recording := find_recording(mask, runner)) is not None:
            spec, way, below = (
                make_record_spec(recording, signature, partial(self.find_under, tables)),
                RECORD,
                recording.below,
            )
        elif traits.inlined is not None and traits.inlined.deferral is not None:
            spec, way = make_deferral_spec(traits.inlined.deferral, signature, FRONTENDS.get(mask & MARKERS)), LATER
        elif traits.inlined is not None and traits.inlined.step is not None:
            spec, way = traits.inlined.step, HANDLE
        if spec is None and way != ASIDE:
            way, below = CALL, None
        common = {"way": way, "count": len(signature.parameters), "runner": runner, "thrower": thrower}
        return self.front.Target(common if spec is None else {**spec, **common})

    def find_under(self, tables: Tables, runner: Runner) -> Any:
        """Return how the runner below a recorded call is run, or None while its results are compared."""
        signature = tables.signature
        traits = tables.traits_of(runner)
        if signature is None or traits.is_watched:
            return None
        spec, way = None if traits.body is None else make_body_spec(traits.body, signature), BODY
        if traits.inlined is not None:
            spec, way = traits.inlined.step, HANDLE
        if spec is None:
            return None
        count = len(signature.parameters)
        # It raises no error itself.
        return self.front.Target({**spec, "way": way, "count": count, "runner": runner, "thrower": runner})

    def find_thrower(
        self, mask: int, runner: Runner, *, is_native: bool, below: Runner | None
    ) -> Callable[[BaseException], object]:
        """Return a function that raises an error again through the frames that generated functions would have here.

        ``is_native`` says that the front has called a kernel or a handler itself, ``below`` is the runner that a record was
        made above.
        """
        entry, state = self.entry, context.current()
        is_inline = entry.specialized_mask == mask if state is None else (mask, state) in entry.specialized_states
        key = id(runner), is_inline, is_native, below is None
        if key in self.throwers:
            return self.throwers[key]
        traits = entry.tables.traits_of(runner if below is None else below)
        body = traits.body if is_native else None
        kernel = {"__kernel": runner if body is None else body.constants["__kernel"]}
        run, own = self.front.raise_error, kernel if is_inline and (below is None or body is None) else {}
        if body is not None and (below is not None or not is_inline):
            run = make_function(_RUN_TEXT, f"kernel of {entry.name}", {"__raise": run, **kernel}, is_shared=True)
        elif is_native and traits.inlined is not None and (below is not None or not is_inline):
            run = make_function(_RUN_TEXT, f"recorder of {entry.name}", {"__raise": run}, is_shared=True)
        if below is not None:
            run = make_function(_RUN_TEXT, f"autograd of {entry.name}", {"__raise": run}, is_shared=True)
        names = {"__error": Exception, "__trim": trim_traceback, "__run": run, **own}
        made = self.throwers[key] = make_function(_CALL_TEXT, f"call of {entry.name}", names, is_shared=True)
        return made


def kind_of(parameter: CallParameter) -> int:
    """Return the kind of a parameter."""
    if parameter.tensors:
        kind = _OF_TENSORS[parameter.tensors]
        return OPTIONAL_TENSOR if kind == TENSOR and parameter.default is None else kind
    return INTS if INT_LIST.fullmatch(parameter.type) else _OF_TYPES.get(parameter.type.rstrip("?"), OTHER)


def make_body_spec(body: Body, signature: CallSignature, made: Frontend[Any] | None = None) -> dict[str, Any] | None:
    """Return how a backend's kernel is called and what is made of its results; None where the runner is called instead.

    The results of a call of arrays are tensors of the frontend ``made``, if there is one.
    """
    boundary, prefix, specialized = body.shape
    boundary = boundary if made is None else replace(boundary, frontend=made)
    constants, options, frontend = body.constants, body.options, boundary.frontend
    layout = None if frontend is None else layout_of(frontend)
    results, writes = signature.results, signature.writes
    if (frontend is not None and layout is None) or len(specialized) > _SPECIAL or prefix > _ARGUMENTS:
        return None
    kinds = []
    for result in results:
        if result.output_mask >= 0 or (result.kind in ("view", "self") and len(results) > 1):
            return None
        if result.kind == "view" and frontend is not None and frontend.views is None:
            return None
        if result.is_list and frontend is None:
            return None
        if result.is_list and result.kind not in ("view", "other"):
            return None
        if result.kind == "view":
            kinds.append(VIEWS if result.is_list else VIEW)
        else:
            kinds.append({"fresh": FRESH, "self": WRITTEN, "other": PLAIN}[result.kind])
    if len(results) > _RESULTS or any("list" in signature.parameters[index].tensors for index in writes):
        return None
    usual = _make_way(signature, constants["__kernel"], in_order=options["in_order"])
    specials = [
        _make_way(signature, constants[f"__special{number}"], leave_out=index, only=constants[f"__only{number}"])
        for number, index in enumerate(specialized)
    ]
    return {
        "layout": layout,
        "usual": usual,
        "specials": tuple(specials),
        "recipes": _make_recipes(body, signature),
        "prefix": tuple([constants[f"__before{number}"] for number in range(prefix)]) or None,
        "below": constants.get("__run_below"),
        "declines": int(options["declines"]),
        "is_short": int(options["is_short"]),
        "itself": int(options["itself"]),
        "tensors": tuple([kind_of(each) if each.tensors else 0 for each in signature.parameters]),
        "kinds": tuple(kinds),
        "sources": tuple([each.source for each in results]),
        "optional": tuple([int(each.is_optional) for each in results]),
        "writes": writes if frontend is not None and frontend.writes is not None else (),
        "array_type": constants["__array"],
        "coerce": constants["__coerce"],
        "check_view": constants["__view_of"],
        "mask": boundary.mask,
        "rebind": constants.get("__rebind"),
        "written": constants.get("__mutated"),
        "op": constants["__op"],
        "view": constants.get("__view"),
        "views": constants.get("__views"),
        "several": constants["__several"],
        "as_list": constants["__list"],
        "refuse": constants.get("__refuse_declined"),
    }


def find_recording(mask: int, runner: Runner) -> RecordedCall | None:
    """Return how a runner under an Autograd key records, if the frontend says it."""
    frontend = FRONTENDS.get(mask & MARKERS)
    return None if frontend is None or frontend.autograd is None else frontend.autograd.recorded_call(runner)


def make_record_spec(
    recording: RecordedCall, signature: CallSignature, find_under: Callable[[Runner], Any]
) -> dict[str, Any] | None:
    """Return how a call is recorded for backward; None where the runner is called instead."""
    places: dict[str | int, int] = {parameter.name: index for index, parameter in enumerate(signature.parameters)}
    layout = layout_of(FRONTENDS[recording.mask & MARKERS])
    if layout is None or max(recording.mask, recording.keys) >= _MASKS or max(recording.kept, default=0) >= _RESULTS:
        return None
    edges = recording.edges

    def as_bits(names: Sequence[str]) -> int:
        return sum(1 << edges.index(name) for name in names)

    return {
        **{name: getattr(recording, name) for name in _OF_RECORDING},
        "layout": layout,
        "tensors": tuple([kind_of(each) if each.tensors else 0 for each in signature.parameters]),
        "find_under": lambda: find_under(recording.below),
        "usual": recording.usual_way,
        "usual_mask": recording.usual,
        "state_name": recording.attribute,
        "edges": tuple([places[name] for name in edges]),
        "saved": tuple([places[name] for name, _ in recording.saved]),
        "always": tuple([int({*users} == {*edges}) for _, users in recording.saved]),
        "users": tuple([as_bits(users) for _, users in recording.saved]),
        "values": tuple(
            [places[name] for name in recording.values] + [places.get(name, name) for name, _ in recording.facts]
        ),
        "how": tuple([0] * len(recording.values) + [_how_to_read(*fact) for fact in recording.facts]),
        "readers": tuple([None] * len(recording.values) + [reader for _, reader in recording.facts]),
        "may_be_integral": int(recording.may_be_integral),
        "is_view": int(recording.is_view),
        "needed": tuple([edges.index(name) for name, _ in recording.needed]),
        "needed_by": tuple([as_bits(users) for _, users in recording.needed]),
    }


def make_deferral_spec(
    deferral: dict[str, Any], signature: CallSignature, frontend: Frontend[Any] | None
) -> dict[str, Any] | None:
    """Return how a call is recorded in a pipeline; None where the runner is called instead."""
    layout = None if frontend is None else layout_of(frontend)
    kinds = tuple([kind_of(each) if each.tensors else 0 for each in signature.parameters])
    if layout is None or deferral["mask"] >= _MASKS or not {LIST, OPTIONAL_LIST}.isdisjoint(kinds):
        return None
    return {**deferral, "layout": layout, "tensors": kinds}


#: What the front takes over of a recording as it stands there.
_OF_RECORDING: Final = (
    "enabled below node mask keys sequence storage keep view no_history complete version mark is_differentiable"
    " differentiable defaults kept results check copy attach keep_result forward debt"
).split()


def _how_to_read(owner: str | int, reader: object) -> int:
    """Return the number of a way to read a fact: a shape, an answer about an argument, or one about a result."""
    return 3 if isinstance(owner, int) else 1 if reader is None else 2


def _make_way(
    signature: CallSignature, call: Runner, *, in_order: bool = False, leave_out: int = -1, only: object = None
) -> dict[str, Any]:
    """Return the order in which a kernel takes its arguments, and which of them by name."""
    places = [index for index in range(len(signature.parameters)) if index != leave_out]
    by_name = [index for index in places if signature.parameters[index].keyword_only and not in_order]
    names = tuple([sys.intern(signature.parameters[index].name) for index in by_name])
    order = [index for index in places if index not in by_name]
    return {
        "call": call,
        "names": names or None,
        "only": only,
        "index": leave_out,
        "positional": len(order),
        "order": (*order, *by_name),
    }


def _make_recipes(body: Body, signature: CallSignature) -> tuple[dict[str, Any], ...]:
    """Return how views are made of bases with certain masks, where the frontend has said it in parts."""
    made: list[dict[str, Any]] = []
    for view in body.find_view_code(signature):
        if view.parts is None or view.base_mask >= _MASKS or len(view.parts) > _PARTS or len(made) == _RECIPES:
            return ()
        made.append(
            {
                "base": view.base_mask,
                "mask": view.mask,
                "attribute": view.attribute,
                "parts": tuple([_make_part(*each) for each in view.parts]),
            }
        )
    return tuple(made)


def _make_part(name: str, *values: object) -> Sequence[object]:
    value, yes, no = (*values, None, None, None)[:3]
    return PARTS[name], value, yes, no
