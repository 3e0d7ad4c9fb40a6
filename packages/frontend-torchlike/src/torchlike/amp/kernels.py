"""The kernels under the Autocast keys: one function for each policy, over tables of operators' names.

Note [Tensors that autocast casts]
    Tensors of the key's own device in float16, bfloat16 and float32, by operators that autograd records. The call goes on
    below the key, with the keys that are left: so it is composed, recorded, batched or deferred as any other. ``out=`` and
    in-place overloads stand on no list.

A block casts the parts of torch's composites, too. Operators with a kernel in torch, composed here, must not depend
on that: such operators pass with autocast off for their parts. So do in-place and ``out=`` overloads that are made of
their functional ones, which may stand on a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, Final

import dispatch_core as dc
from dispatch_aten.decompositions import IMPLICIT, composite_kernels
from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float32
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_core.frontends import (
    call_signature,
    current_masks,
    current_session,
    find_composite,
    included_mask,
    keep_in_code,
    make_inlined_kernel,
    reset_masks,
    run_outside,
    set_masks,
)
from dispatch_core.keys import ARRAYS, AUTOGRAD, LAYOUTS, DispatchKey, backend_arrays

from ..history.graph_settings import current_autocast, current_nesting
from ..tensors.tensor import frontend
from . import policies
from .cast_cache import CastCache
from .device_keys import DEVICES, KEYS
from .kernel_lines import write_kernel as _write_kernel

#: The mark of shared memory in a schema: ``Tensor(a)``.
_ALIAS: Final = re.compile(r"\(.*?\)")
#: The dtypes that are cast.
CASTABLE: Final = frozenset({float16, bfloat16, float32})
#: The overload that is called instead, with a dtype at its end (policy ``fp32_append_dtype``).
_WITH_DTYPE: Final = {"aten::norm.Scalar": "ScalarOpt_dtype", "aten::norm.ScalarOpt_dim": "ScalarOpt_dim_dtype"}
_BANNED: Final = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


@cache
def policies_of(backend: str) -> dict[str, str]:
    """Return the policy of each listed operator, for the key of a device.

    >>> policies_of("CPU")["mm"], policies_of("CPU").get("exp"), policies_of("Meta")["exp"]
    ('lower_precision_fp', None, 'fp32')
    """
    lists = policies.CPU if backend == "CPU" else policies.CUDA
    found = {name: policy for policy, names in lists.items() for name in names.split()}
    if "mkldnn_rnn_layer" in found:
        found["mkldnn_rnn_layer"] = "lower_precision_fp_of_lstm"
    if backend != "CPU":
        # torch lists the cells and cuDNN's layers there; these layers are made of neither.
        found |= dict.fromkeys(("lstm.input", "lstm.data", "gru.input", "gru.data"), "lower_precision_fp")
    return found


class OperatorCasts:
    """A policy's facts of the calls of one operator with one keyset: the arguments that are cast, the runner below."""

    castable: ClassVar[frozenset[ScalarType]] = CASTABLE

    def __init__(self, op: Any, keyset: Any, key: DispatchKey) -> None:
        self.op, self.key, self._own_masks = op, key, (key.value, 0)
        self._to_copy: Any = dc.ops.aten._to_copy.default
        self.below = (keyset.mask | keyset.marker) & ~key.value
        self._copy_below = dc.fast_redispatch(self._to_copy, self.below)
        #: A cast may have another layout than its tensor.
        has_layouts = bool(keyset.mask & LAYOUTS)
        self.run = self._run_by_arguments if has_layouts else dc.fast_redispatch(op, self.below)
        self.arguments = op.schema.arguments
        kinds = [_ALIAS.sub("", str(argument.type)) for argument in self.arguments]
        self.tensors = tuple(index for index, kind in enumerate(kinds) if kind in ("Tensor", "Tensor?"))
        self.lists = tuple(index for index, kind in enumerate(kinds) if kind == "Tensor[]")
        self._own = backend_arrays(key.backend)
        arrays = keyset.mask & ARRAYS
        self._is_alone = bool(arrays) and not arrays & ~self._own
        #: Whether arguments may lie on several devices, or in several layouts, each of which has keys of its own.
        self._is_mixed = bool(arrays & ~DispatchKey(key.backend).value)
        #: The keys of a conversion → the function that runs it.
        self._conversions: dict[int, Callable[..., Any]] = {}
        #: A level of a transform names no device, and its results of a leaf are its own: it sees and keeps no cast.
        self._watchers = _WATCHERS if arrays else 0
        #: The keys of tensors of which a cast may be kept.
        self._leaves = int(AUTOGRAD) if arrays else 0
        self._is_recorded = bool(keyset.mask & DispatchKey.Pipeline)
        #: Whether only keys of arrays and their history are below: without masks, calls there are ordinary ones.
        self._is_plain = bool(arrays) and not keyset.mask & (LAYOUTS | ~(ARRAYS | AUTOGRAD | key.value))
        #: Whether nothing tells two casts of one tensor from one: no layer sees them, and their gradients are not added.
        self.joins_casts = self._is_plain and not keyset.mask & AUTOGRAD
        self.runs_plainly = self._is_plain and find_composite(op, "CompositeImplicitAutograd") is not None
        self.constants = {
            "__call": self,
            "__op": op,
            "__own": self._own_masks,
            "__below": self.run,
            "__cast": self._cast_without_history
            if self.joins_casts and self._is_alone and not self._is_mixed
            else self._cast,
            "__set": set_masks,
            "__reset": reset_masks,
            "__choices": current_autocast,
            "__float32": float32,
        }
        if self.runs_plainly:
            self.run = _bind_plainly(op, key.value, self.run)

    def is_optional(self, index: int) -> bool:
        """Return whether an argument may be None."""
        return str(self.arguments[index].type).endswith("?")

    def is_eligible(self, value: Any) -> bool:
        """Return whether an argument may be cast: see Note [Tensors that autocast casts]."""
        if value is None or value.dtype not in self.castable:
            return False
        if self._is_alone:
            return True
        keys = value._dispatch_mask & ARRAYS
        return bool(keys & self._own) if keys else value.device.type == DEVICES[self.key]

    def each_tensor(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the tensors among the arguments."""
        found = [values[index] for index in self.tensors]
        for index in self.lists:
            found += values[index]
        return found

    def cast_all(self, values: tuple[Any, ...], dtype: ScalarType) -> Any:
        """Return the arguments with the eligible ones cast."""
        made: list[Any] | None = None
        last = cast = None
        for index in self.tensors:
            value = values[index]
            if value is None or (own := value.dtype) is dtype:
                continue
            if made is None:
                made = list(values)
            if value is not last or not self.joins_casts:
                last, cast = value, self._cast(value, own, dtype)
            made[index] = cast
        if self.lists:
            made = made or list(values)
            for index in self.lists:
                made[index] = [
                    each if each is None or (own := each.dtype) is dtype else self._cast(each, own, dtype)
                    for each in made[index]
                ]
        return made or values

    def _cast(self, value: Any, own: ScalarType, dtype: ScalarType) -> Any:
        """Return an argument of the dtype ``own`` in another one, if it may be cast; a leaf's cast is kept."""
        kept = self._find_cache() if own is float32 and value._dispatch_mask & self._leaves else None
        if kept is not None:
            found = kept.find(value, dtype, current_session() if self._is_recorded else None)
            if found is not None:
                return found
        if own not in self.castable or not (self._is_alone or self.is_eligible(value)):
            return value
        if kept is not None and value.requires_grad and value.is_leaf and not value._is_view():
            return kept.cast(value, dtype, self._convert)
        return self._convert(value, dtype)

    def _cast_without_history(self, value: Any, own: ScalarType, dtype: ScalarType) -> Any:
        """Do the same where no call below is recorded, for less: of tensors that need no gradient no cast is kept."""
        if value._dispatch_mask & AUTOGRAD or current_masks() != self._own_masks:
            return self._cast(value, own, dtype)
        return self._copy_below(value, dtype, None, None, None, False, None) if own in self.castable else value

    def _run_by_arguments(self, *values: Any) -> Any:
        held = 0
        for each in self.each_tensor(values):
            held |= 0 if each is None else each._dispatch_mask
        mask = self.below & ~_OF_ARGUMENT | dc.apply_masks(held).mask & _OF_ARGUMENT
        return dc.fast_redispatch(self.op, mask)(*values)

    def _find_cache(self) -> CastCache | None:
        """Return the casts that are kept here; None where none are."""
        nesting = current_nesting()
        return nesting.cache if nesting is not None and nesting.depth > 0 and current_autocast().cache_enabled else None

    def _convert(self, value: Any, dtype: ScalarType) -> Any:
        if self._is_plain and current_masks() == self._own_masks:
            token = set_masks[None]
            try:
                return self._to_copy(value, dtype=dtype)
            finally:
                reset_masks(token)
        mask = self.below | included_mask() & self._watchers
        if self._is_mixed:
            mask = mask & ~_OF_ARGUMENT | dc.apply_masks(value._dispatch_mask).mask & _OF_ARGUMENT
        convert = self._conversions.get(mask)
        if convert is None:
            convert = self._conversions[mask] = dc.fast_redispatch(self._to_copy, mask)
        return convert(value, dtype, None, None, None, False, None)


def _bind_plainly(op: Any, key: int, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs a composite as an ordinary call where the masks are ``key``: it may take a short way."""
    split = call_signature(op).split
    takes_keywords = any(each.kwarg_only for each in op.schema.arguments)

    def run(*values: Any) -> Any:
        masks = current_masks()
        if masks is None or masks[1] or masks[0] != key:
            return otherwise(*values)
        token = set_masks[None]
        try:
            if not takes_keywords:
                return op(*values)
            positional, keywords = split(values)
            return op(*positional, **keywords)
        finally:
            reset_masks(token)

    return run


def _lower_precision_fp(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    return call.run(*call.cast_all(values, dtype))


def _lower_precision_fp_of_lstm(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    # torch has the operator for LSTM alone. Other networks are composed there, of parts with a state in float32.
    return _lower_precision_fp(call, values, dtype) if values[_MODE] == _LSTM else call.run(*values)


def _fp32(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    return call.run(*call.cast_all(values, float32))


def _fp32_set_opt_dtype(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    if call.is_eligible(values[call.tensors[0]]):
        named = [argument.name for argument in call.arguments]
        index = named.index("dtype")
        if values[index] is None:
            values = (*values[:index], float32, *values[index + 1 :])
    return call.run(*values)


def _fp32_append_dtype(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    first = values[call.tensors[0]]
    overload = getattr(dc.ops.aten.norm, _WITH_DTYPE[call.op.name])
    return overload.redispatch(call.below, *values, dtype=float32 if call.is_eligible(first) else first.dtype)


def _promote(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    target, tensors = dtype, call.each_tensor(values)
    found = {each.dtype for each in tensors if each is not None}
    if len(found) == 1 and (dtype in found or float32 in found):
        return call.run(*values)
    for each in tensors:
        if not call.is_eligible(each):
            continue
        if each.dtype is float32:
            target = float32
        elif each.dtype is not dtype and target is not float32:
            raise RuntimeError(
                "Unexpected floating ScalarType in at::autocast::prioritize\n"
                f"Hint: autocast computes in {dtype}; convert the {each.dtype} tensor to it or to float32"
            )
    return call.run(*call.cast_all(values, target))


def _refuse(call: OperatorCasts, values: tuple[Any, ...], dtype: ScalarType) -> Any:
    raise RuntimeError(_BANNED)


#: The argument of ``mkldnn_rnn_layer`` that names the layer, and its value for LSTM.
_MODE, _LSTM = 9, 2
_POLICIES: Final[dict[str, Callable[[OperatorCasts, tuple[Any, ...], ScalarType], Any]]] = {
    "lower_precision_fp": _lower_precision_fp,
    "lower_precision_fp_of_lstm": _lower_precision_fp_of_lstm,
    "fp32": _fp32,
    "fp32_set_opt_dtype": _fp32_set_opt_dtype,
    "fp32_append_dtype": _fp32_append_dtype,
    "promote": _promote,
    "banned": _refuse,
}


#: Layers that stand above the key, and see a conversion as a call of its own.
_WATCHERS: Final[int] = DispatchKey.Profiler | DispatchKey.PythonTLSSnapshot | DispatchKey.FuncTorchGradWrapper
#: The keys in which an argument of a mixed call may differ from it, which passes the layers of arrays if one is sparse.
_OF_ARGUMENT: Final[int] = ARRAYS | AUTOGRAD | DispatchKey.Pipeline | DispatchKey.Tracer


#: An Autocast key → the library of its kernels.
_libraries: Final[dict[DispatchKey, dc.Library]] = {}


def _find_dtype(key: DispatchKey) -> ScalarType | None:
    """Return the dtype of the device of a key; None where autocast is off."""
    choices = current_autocast()
    found: ScalarType | None = None if choices is None else choices.active.get(DEVICES[key])
    return found


def _make_policy_kernel(key: DispatchKey, policy: str, op: Any, keyset: Any) -> Callable[..., Any]:
    call = OperatorCasts(op, keyset, key)
    arrays = keyset.mask & ARRAYS
    if keyset.marker != frontend.marker or (arrays and not arrays & backend_arrays(key.backend)):
        # Raw arrays, another frontend's tensors, and other devices'.
        return call.run
    run, act, device = call.run, _POLICIES[policy], DEVICES[key]

    def kernel(*values: Any) -> Any:
        choices = current_autocast()
        if choices is None or (dtype := choices.active.get(device)) is None:
            return run(*values)
        return act(call, values, dtype)

    constants = {"__device": device, "__act": act, **call.constants}
    return make_inlined_kernel(op, kernel, partial(_write_kernel, call, policy), constants)


def _make_passing_kernel(key: DispatchKey, op: Any, keyset: Any) -> Callable[..., Any]:
    return dc.fast_redispatch(op, (keyset.mask | keyset.marker) & ~key.value)


def _make_kernel(key: DispatchKey, name: str) -> dc.KernelFactory | None:
    """Return the kernel of an operator; None where its parts are cast, if it has any."""
    policy = policies_of(key.backend).get(name)
    if policy is not None:
        return dc.kernel_factory(partial(_make_policy_kernel, key, policy), in_order=True)
    operator = ATEN_BY_NAME[name]
    is_torchs = name in IMPLICIT and name not in policies.COMPOSED_HERE
    if is_torchs or "Tensor" not in operator.schema.partition("->")[0] or not composite_kernels(operator):
        return None
    return dc.kernel_factory(partial(_make_passing_kernel, key), in_order=True)


def prepare(device: str, own: DispatchKey) -> DispatchKey:
    """Return the Autocast key of a device with the key ``own``, with its kernels registered.

    That is done outside the transaction of a plugin that is loading.
    """
    key = DispatchKey(f"Autocast{own.name}")
    run_outside(partial(_register, device, own, key))
    return key


def _register(device: str, own: DispatchKey, key: DispatchKey) -> None:
    with dc.registry.lock:
        if key not in _libraries:
            # Below the program's registrations, as the kernels of autograd.
            with dc.registry.transaction(level="backend"):
                library = dc.Library("aten", "IMPL", key)
                library.impl_lazily(partial(_make_kernel, key))
            _libraries[key] = library
        DEVICES[key], KEYS[device] = device, (own, key)
        keep_in_code((key.value, 0))


class _CompositeCasts(OperatorCasts):
    """The same for a composite that is called under a level of a transform, where all parts are ordinary calls."""

    def __init__(self, op: Any, keyset: Any, key: DispatchKey, composite: Callable[..., Any]) -> None:
        super().__init__(op, keyset, key)
        self.run, self._watchers, self._leaves = composite, 0, 0

    def _convert(self, value: Any, dtype: ScalarType) -> Any:
        return dc.ops.aten._to_copy.default(value, dtype=dtype)


_make_composite_casts: Final = lru_cache(maxsize=1024)(_CompositeCasts)


def has_program_kernel(keyset: Any, op: Any) -> bool:
    """Return whether the program has registered a kernel of an operator under an Autocast key of ``keyset``."""
    keys, fallbacks = [key for key in list(_libraries) if keyset.mask & key], dc.registry.fallbacks
    found = [held[0] if (held := op.registrations(key)) else fallbacks.get(key) for key in keys]
    return any(each is not None and str(each.level) == "program" for each in found)


def run_composite(keyset: Any, op: Any, composite: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Run the composite that serves a call of a level, below the Autocast keys of ``keyset``, which have kernels for it."""
    arrays = 0
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            arrays |= getattr(each, "_dispatch_mask", 0) & ARRAYS
    own = [key for key in list(_libraries) if keyset.mask & key and arrays & backend_arrays(key.backend)]
    if not own:
        return composite(*values)
    (key, *_), dtype = own, _find_dtype(own[0])
    policy = policies_of(key.backend).get(op.name.partition("::")[2])
    with dc.exclude_keys(key):
        if dtype is None or policy is None:
            return composite(*values)
        return _POLICIES[policy](_make_composite_casts(op, keyset, key, composite), values, dtype)
