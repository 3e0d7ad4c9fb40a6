"""Contract tensors along opt_einsum's paths, and differentiate a contraction."""

import opt_einsum
import torch
from job_values import report

torch.manual_seed(0)
shapes = {"ab": (3, 4), "bc": (4, 5), "cde": (5, 2, 3), "ea": (3, 3)}
parts = [torch.randn(shape, requires_grad=True) for shape in shapes.values()]
formula = ",".join(shapes) + "->d"
result = opt_einsum.contract(formula, *parts)
result.sum().backward()
path, told = opt_einsum.contract_path(formula, *parts)
again = opt_einsum.contract_expression(formula, *shapes.values())(*[each.detach() for each in parts])
shared = opt_einsum.contract("ab,ab->", parts[0], parts[0], backend="torch")
report(result=result, slope=parts[0].grad, path=path, cost=told.opt_cost, again=again, shared=shared)
