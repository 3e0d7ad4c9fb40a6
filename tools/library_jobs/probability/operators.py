"""Solve, decompose and draw with linear_operator's matrices, by torch's own functions."""

import torch
from job_values import report
from linear_operator.operators import (
    DenseLinearOperator,
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    LowRankRootLinearOperator,
)

torch.manual_seed(0)
root = torch.randn(5, 2, requires_grad=True)
diagonal = torch.rand(5) + 0.5
matrix = LowRankRootLinearOperator(root) + DiagLinearOperator(diagonal)
right = torch.randn(5, 2)
solved = torch.linalg.solve(matrix, right)
solved.sum().backward()
positive = DenseLinearOperator(torch.eye(4) + 0.3)
product = KroneckerProductLinearOperator(DenseLinearOperator(torch.eye(2) * 2), positive)
report(
    solved=solved,
    slope=root.grad,
    logdet=torch.logdet(matrix),
    lower=torch.linalg.cholesky(positive).to_dense(),
    product=torch.matmul(product, torch.ones(8, 1)),
    sum=(matrix + matrix).to_dense().sum(),
    diagonal=torch.diagonal(matrix, dim1=-2, dim2=-1),
    inverse=positive.inv_quad_logdet(torch.ones(4, 1), logdet=True),
    drawn=positive.zero_mean_mvn_samples(2),
)
