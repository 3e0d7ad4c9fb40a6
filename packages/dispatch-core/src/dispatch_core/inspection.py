"""The API for tools that explain calls and examine plugins: a call's resolution, registrations, claims, graphs.

It follows the core: names come and go with it, in releases of both distributions that require each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import pipelines
from ._record import Record
from .arrays.access import computes_late
from .arrays.frontend import FRONTENDS, frontend_of
from .arrays.late_arrays import COMPUTED_FOR
from .arrays.owners import KEY_DEVICES, KEY_TYPES, is_tensor, mask_of
from .arrays.protocols import refuse_mixed
from .calls import call_trace, codegen
from .calls.call_trace import TracedCall
from .calls.late_calls import takes_one_unknown
from .calls.placed_calls import COPIES, MIXED, find_index
from .calls.reference import arguments_mask, unchecked_mask
from .discovery import loader
from .errors import ArgumentError
from .keys import context
from .keys.switched_on import included_mask
from .keys.table import BACKEND_PREFIXES, MARKERS
from .layers.profile_events import STAGES, CallEvent
from .layers.profiler import ProfileSession
from .operators.call_tables import closed_error
from .operators.candidates import Candidate, list_candidates
from .operators.dispatch_table import Slot
from .operators.entry import OperatorEntry
from .operators.kernel_names import kernel_name, kernel_place
from .operators.namespaces import OpOverloadPacket
from .operators.operator_index import has_library, is_unknown, load_operators, near
from .operators.overloads import OpOverload, is_overload
from .operators.registration import Registration
from .operators.registries import Registry, the_registry
from .operators.resolution import Resolution, explain_passing_over, no_kernel_error, resolve, walk_keys
from .operators.runners import find_functional, find_masked_off, unwritable_error
from .operators.typed_calls import TypedCalls
from .plugins import BackendState, ProviderState, loading
from .plugins.array_types import device_of, owners_of
from .plugins.catalog import OWNERS, Catalog, is_device_name, is_own
from .plugins.messages import switch_reason
from .plugins.policy import kept_out_by
from .plugins.settings import ALLOW, AUTOLOAD, BLOCK, Settings
from .plugins.settings import KERNELS as SWITCHED_ON
from .plugins.state import explain_exception
from .surroundings.distributions import (
    ARRAY_TYPES,
    BACKENDS,
    COMPANIONS,
    KERNELS,
    OPERATORS,
    STAND_INS,
    Claim,
    installed_version,
    normalize,
)
from .surroundings.distributions import FRONTENDS as ADAPTERS
from .surroundings.environment import parse_names

if TYPE_CHECKING:
    from .pipelines import FORMS, Edge, Picture, Value

__all__ = [
    "ADAPTERS",
    "ALLOW",
    "ARRAY_TYPES",
    "AUTOLOAD",
    "BACKENDS",
    "BACKEND_PREFIXES",
    "BLOCK",
    "COMPANIONS",
    "COMPUTED_FOR",
    "COPIES",
    "FORMS",
    "FRONTENDS",
    "KERNELS",
    "KEY_DEVICES",
    "KEY_TYPES",
    "MARKERS",
    "MIXED",
    "OPERATORS",
    "OWNERS",
    "STAGES",
    "STAND_INS",
    "SWITCHED_ON",
    "BackendState",
    "CallEvent",
    "Candidate",
    "Catalog",
    "Claim",
    "Edge",
    "Picture",
    "ProfileSession",
    "ProviderState",
    "Record",
    "Registration",
    "Resolution",
    "Settings",
    "Slot",
    "TracedCall",
    "TypedCalls",
    "Value",
    "arguments_mask",
    "call_trace",
    "closed_error",
    "codegen",
    "computes_late",
    "context",
    "device_of",
    "entries_of",
    "explain_exception",
    "explain_passing_over",
    "find_functional",
    "find_index",
    "find_masked_off",
    "frontend_of",
    "has_library",
    "included_mask",
    "installed_version",
    "is_device_name",
    "is_own",
    "is_tensor",
    "is_unknown",
    "kept_out_by",
    "kernel_name",
    "kernel_place",
    "list_candidates",
    "load_operators",
    "loader",
    "loading",
    "mask_of",
    "near",
    "no_kernel_error",
    "normalize",
    "owners_of",
    "parse_names",
    "refuse_mixed",
    "resolve",
    "switch_reason",
    "takes_one_unknown",
    "the_registry",
    "unchecked_mask",
    "unwritable_error",
    "walk_keys",
]

#: The names that `pipelines` imports where one is first used.
_OF_PIPELINES = ("FORMS", "Edge", "Picture", "Value")


def __getattr__(name: str) -> Any:
    if name not in _OF_PIPELINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(pipelines, name)


def entries_of(op: str | OpOverload | OpOverloadPacket, registry: Registry | None = None) -> list[OperatorEntry]:
    """Return the overloads that a name, an overload or a packet stands for, in the order of definition."""
    found = the_registry(registry).find(op) if isinstance(op, str) else op
    if is_overload(found):
        return [found._entry]
    if not isinstance(found, OpOverloadPacket):
        raise ArgumentError(f"expected an operator or its name, not {type(op).__name__}")
    return list(found._registry.overloads(found.name).values())
