"""The generator of libopapi.so's entries from ``operators.txt``: two phases for each operator and, for maps, the loops.

>>> operators = {each.name: each for each in read()}
>>> operators["aclnnAdds"].expression
'self + alpha * other'
>>> operators["aclnnAdds"].types
('const aclTensor*', 'const aclScalar*', 'const aclScalar*', 'aclTensor*')
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from ..acl.constants import DATA_TYPES
from ..aclnn.dtypes import CHIPS, takes
from ..aclnn.table import PARAMETERS

#: The bits of all data types, for arguments of which nothing is known.
_EVERY: Final = (1 << 64) - 1

TABLE: Final = Path(__file__).parent / "operators.txt"


class _Kind(NamedTuple):
    """A kind of argument: its C type, its letter in C, and its role, see aclsim_operator."""

    type: str
    letter: str
    role: str


_KINDS: Final = {
    "T": _Kind("const aclTensor*", "T", "i"),
    "O": _Kind("aclTensor*", "T", "o"),
    "R": _Kind("aclTensor*", "T", "r"),
    "S": _Kind("const aclScalar*", "S", "x"),
    "IA": _Kind("const aclIntArray*", "I", "x"),
    "BA": _Kind("const aclBoolArray*", "B", "x"),
    "TL": _Kind("const aclTensorList*", "L", "i"),
    "OL": _Kind("aclTensorList*", "L", "o"),
    "float": _Kind("float", "d", "-"),
    "double": _Kind("double", "d", "-"),
    "char*": _Kind("char*", "s", "-"),
}
#: Every other C type is an integer.
_FIELDS: Final = {"d": "real", "s": "text", "n": "integer"}
_TAGS: Final = {"real": "REAL_RESULT", "whole": "INTEGER_ONLY", "any": "ANY_RESULT", "own": "OWN_DTYPE", "": "0"}


class FunctionArgument(NamedTuple):
    """One argument of an operator's first phase."""

    name: str
    kind: _Kind
    optional: bool


class SimulatedOperator(NamedTuple):
    """One line of the table."""

    name: str
    arguments: tuple[FunctionArgument, ...]
    tag: str = ""
    expression: str = ""
    """The expression of a map; empty where a kernel does the work."""
    whole: str = ""
    """The expression for integers."""
    kernel: str = ""
    check: str = ""

    @property
    def types(self) -> tuple[str, ...]:
        """The C types of the first phase's arguments, without the last two."""
        return tuple([argument.kind.type for argument in self.arguments])


def _argument(text: str) -> FunctionArgument:
    kind, name = text.rsplit(" ", 1)
    optional = kind.endswith("?")
    kind = kind.removesuffix("?")
    return FunctionArgument(name, _KINDS.get(kind) or _Kind(kind, "n", "-"), optional)


def read() -> list[SimulatedOperator]:
    """Return the operators of the table, in its order."""
    found: dict[str, SimulatedOperator] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, how = line.partition(" = ")
        name, _, arguments = head[:-1].partition("(")
        how = how or name.removeprefix("Inplace")
        row = SimulatedOperator(f"aclnn{name}", tuple([_argument(each) for each in arguments.split(", ")]))
        if how in found:
            same = found[how]
            row = row._replace(
                tag=same.tag, expression=same.expression, whole=same.whole, kernel=same.kernel, check=same.check
            )
        elif how.startswith("C "):
            kernel, _, check = how[2:].partition(", ")
            row = row._replace(kernel=kernel, check=check)
        else:
            match = re.fullmatch(r"(?:(real|whole|any|own|loss): )?(.*)", how)
            assert match
            tag = match[1] or ""
            # A bar between blanks separates the two expressions, except where it is the operator of integers.
            expression, bar, whole = (match[2], "", "") if tag == "whole" else match[2].partition(" | ")
            row = row._replace(tag=tag, expression=expression, whole=whole if bar else expression)
        found[name] = row
    return list(found.values())


def _loop(operator: SimulatedOperator, real: bool) -> list[str]:
    """Return the loop over all elements, in double or in int64_t."""
    c, field, flag = ("double", "f", "true") if real else ("int64_t", "i", "false")
    used = operator.expression if real else operator.whole
    before, within = [], []
    for i, (name, kind, _) in enumerate(operator.arguments):
        if not re.search(rf"\b{name}\b", used):
            continue
        if kind.role in "ir":
            before.append(f"const cell *{name}_ = has_{name} ? map_operand(call, {i}, result, {flag}) : NULL;")
            within.append(f"const {c} {name} = {name}_ ? {name}_[i].{field} : 0;")
        elif kind.letter == "S":
            before.append(f"{c} {name} = has_{name} ? scalar_{'real' if real else 'integer'}(call, {i}) : 0;")
            if operator.tag != "any" and not real:
                before.append(f"if (result->dtype == ACL_BOOL) {name} = {name} != 0;")
    return [
        *before,
        f"for (int64_t i = 0; i < count; i++) {{ {' '.join(within)} cells[i].{field} = ({c})({used}); }}",
    ]


def _map(operator: SimulatedOperator) -> list[str]:
    """Return the function that computes a map: it reads the operands, loops over the elements, and stores the result."""
    output = next(i for i, argument in enumerate(operator.arguments) if argument.kind.role in "or")
    lines = [
        f"static void run_{operator.name}(aclsim_call *call) {{",
        f"const aclTensor *result = tensor(call, {output});"
        if operator.tag != "loss"
        else "aclTensor wide = *tensor(call, 0); const aclTensor *result = &wide; broadcast(call, &wide);",
    ]
    for i, (name, kind, _) in enumerate(operator.arguments):
        if kind.role in "irx":
            lines.append(f"const bool has_{name} = given(call, {i}); (void)has_{name};")
        elif kind.role == "-":
            lines.append(
                f"const {kind.type} {name} = ({kind.type})call->arguments[{i}].{_FIELDS[kind.letter]}; (void){name};"
            )
    lines += [
        "const bool is_bool = promoted(call) == ACL_BOOL; (void)is_bool;",
        "const int64_t count = aclsim_numel(result);",
        "cell *cells = scratch((size_t)count * sizeof *cells);",
    ]
    real, whole = _loop(operator, real=True), _loop(operator, real=False)
    if operator.tag == "whole":
        lines += [*whole, "store(result, cells, false);"]
    elif operator.tag == "loss":
        lines += [*real, "store_loss(call, cells, count, reduction);"]
    elif operator.tag == "real":
        lines += [*real, "store(result, cells, true);"]
    else:
        which = "tensors_real" if operator.tag == "own" else "computes_real"
        lines += [f"const bool real = {which}(call);", "if (real) {", *real, "} else {", *whole, "}"]
        lines.append("store(result, cells, real);")
    return [*lines, "scratch_done();", "}"]


def _check(operator: SimulatedOperator) -> str:
    """Return the call of a map's check."""
    if operator.tag != "loss":
        return f"check_map_result(call, {_TAGS[operator.tag]})"
    reduction = [argument.name for argument in operator.arguments].index("reduction")
    return f"check_loss(call, (int)integer(call, {reduction}))"


def _list_masks(function: str) -> list[str]:
    """Return for each argument of a function the bits of the data types that a tensor may have there, by chip."""
    found = []
    for parameter in PARAMETERS[function]:
        masks = []
        for chip in CHIPS:
            taken = takes(function, chip)
            types = frozenset() if taken is None else taken.get(parameter)
            masks.append(sum(1 << DATA_TYPES[each] for each in types) if types is not None else _EVERY)
        found.append(f"{{{', '.join(f'{mask:#x}' for mask in masks)}}}")
    return found


def _entries(operator: SimulatedOperator) -> list[str]:
    """Return the description that both phases share, and the phases."""
    name, arguments = operator.name, operator.arguments
    letters = "".join(argument.kind.letter for argument in arguments)
    roles = "".join(a.kind.role.upper() if a.optional else a.kind.role for a in arguments)
    names = ", ".join(f'"{argument.name}"' for argument in arguments)
    run, workspace = (
        (f"run_{name}", "NULL") if operator.expression else (f"kernel_{operator.kernel}", "workspace_of_results")
    )
    check = f"check_{name}" if operator.expression else f"check_{operator.check}" if operator.check else "NULL"
    fields = ", ".join(f"{{.{_FIELDS.get(a.kind.letter, 'handle')} = {a.name}}}" for a in arguments)
    declared = ", ".join(f"{argument.kind.type} {argument.name}" for argument in arguments)
    return [
        f"static const char *const names_{name}[] = {{{names}}};",
        f"static const uint64_t takes_{name}[][CHIPS] = {{{', '.join(_list_masks(name))}}};",
        f"static const aclsim_operator {name}_ = {{",
        f'"{name}", "{name}GetWorkspaceSize", "{letters}", "{roles}", {len(arguments)}, names_{name},',
        f"{check}, {run}, {workspace}, takes_{name}}};",
        f"aclnnStatus {name}GetWorkspaceSize({declared}, uint64_t *workspaceSize, aclOpExecutor **executor) {{",
        f"const aclsim_argument arguments[] = {{{fields}}};",
        f"return aclsim_prepare(&{name}_, arguments, workspaceSize, (void **)executor);",
        "}",
        f"aclnnStatus {name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {{",
        f"return aclsim_execute(&{name}_, workspace, workspaceSize, executor, stream);",
        "}",
    ]


def generate() -> str:
    """Return the C source of every operator's entries.

    >>> "aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self" in generate()
    True
    """
    operators = read()
    lines = [
        "/* Written by generate.py from operators.txt. */",
        '#include "tensor.h"',
        "typedef struct aclOpExecutor aclOpExecutor;",
        "static const cell *map_operand(const aclsim_call *call, int i, const aclTensor *result, bool real) {",
        "const aclTensor view = expanded(tensor(call, i), result->sizes, result->rank);",
        "return load_as(&view, promoted(call), real);",
        "}",
    ]
    for kernel in sorted({each.kernel for each in operators if each.kernel}):
        lines.append(f"void kernel_{kernel}(aclsim_call *call);")
    for check in sorted({each.check for each in operators if each.check}):
        lines.append(f"aclnnStatus check_{check}(aclsim_call *call);")
    for operator in operators:
        if operator.expression:
            check = f"static aclnnStatus check_{operator.name}(aclsim_call *call)"
            lines.append(f"{check} {{ return {_check(operator)}; }}")
            lines += _map(operator)
        lines += _entries(operator)
    return "\n".join([*lines, ""])
