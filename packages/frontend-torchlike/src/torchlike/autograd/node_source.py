"""The source of a node's ``apply``, made of an overload's derivative formulas: gradients of results in, of inputs out."""

from __future__ import annotations

from .derivative import Recipe

__all__ = ["node_source"]


def node_source(recipe: Recipe, *, conjugates: bool = True) -> str:
    """Give the source of ``apply``: unpack what was saved, check it, compute the gradients that are wanted.

    Without ``conjugates`` it is what `_Conjugated` calls for gradients that are complex.
    """
    lines = ["def apply(node, grads):"]
    if recipe.outputs == 1:
        lines += ["    grad = grads[0]", "    if grad is None:", "        return (None,) * len(node.next)"]
    else:
        lines += ["    if all(grad is None for grad in grads):", "        return (None,) * len(node.next)"]
        lines += ["    grad = grads[0]"] if "grad" in recipe.names else []
    if conjugates and recipe.outputs == 1 and recipe.has_factors:
        found = "grad._dispatch_data.dtype in COMPLEX" if recipe.plain_arrays else "_dtype(grad).is_complex"
        lines += [f"    if {found}:", "        return conjugated(node, grads)"]
    tensors = [*recipe.saved_inputs, *recipe.saved_results]
    if tensors:
        lines += ["    saved = node.saved", "    if saved is None:", "        raise released()"]
        lines += [f"    {', '.join(tensors)}, = saved"]
        inputs = recipe.saved_inputs
        if inputs:
            lines += [f"    {', '.join(f'v_{name}' for name in inputs)}, = node.versions"]
        for name in inputs:
            if name in recipe.list_inputs:
                lines += [f"    for each, version in zip({name}, v_{name}, strict=True):"]
                lines += ["        if each is not None and version_of(each) != version:"]
                lines += ["            raise version_error(each, version)"]
            else:
                lines += [f"    if {name} is not None and version_of({name}) != v_{name}:"]
                lines += [f"        raise version_error({name}, v_{name})"]
        lines += [f"    {name} = give_back({name}, node)" for name in recipe.saved_results]
    if recipe.values:
        lines += [f"    {', '.join(recipe.values)}, = node.values"]
    if not recipe.list_inputs & set(recipe.gradients):
        wants = ", ".join(f"w_{index}" for index in range(len(recipe.gradients)))
        lines += [f"    {wants}, = node.next"]
        results = [
            f"{recipe.gradients[name]} if w_{index} is not None else None"
            for index, name in enumerate(recipe.gradients)
        ]
        return "\n".join([*lines, f"    return ({', '.join(results)},)"]) + "\n"
    lines += ["    found = []", "    start = 0", "    counts = iter(node.counts)"]
    for name in recipe.gradients:
        lines += ["    count = next(counts)", "    wanted = node.next[start:start + count]", "    start += count"]
        one = (
            f"found.extend({recipe.gradients[name]})"
            if name in recipe.list_inputs
            else (f"found.append({recipe.gradients[name]})")
        )
        lines += ["    if any(edge is not None for edge in wanted):", f"        {one}"]
        lines += ["    else:", "        found += [None] * count"]
    return "\n".join([*lines, "    return tuple(found)"]) + "\n"
