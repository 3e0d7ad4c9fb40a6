"""The quasi-Newton method with a limited memory of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import enable_grad, no_grad
from ..tensors.tensor import Tensor
from .line_search import search_strong_wolfe
from .numbers import read_number, to_plain
from .optimizer import Optimizer
from .settings import check_settings, collect_settings

#: The names of a state that lead from one step to the next.
_MEMORY: Final = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


def _to_real(tensor: Tensor) -> Tensor:
    return FUNCTIONS["view_as_real"](tensor) if tensor.is_complex() else tensor


class LBFGS(Optimizer):
    """Steps along an estimate of the inverse Hessian times the gradient (source: ``torch.optim.LBFGS``).

    ``step`` needs a closure that computes the loss and its gradients; it is called several times. There is one group of
    parameters only: ``ValueError`` for more.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        settings = collect_settings(locals())
        check_settings(settings, "lr")
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gather_gradient(self) -> Tensor:
        """Return all gradients as one vector."""
        parts = []
        for param in self._params:
            grad = FUNCTIONS["zeros_like"](param) if param.grad is None else param.grad
            parts.append(_to_real(grad.to_dense() if grad.is_sparse else grad).reshape(-1))
        return FUNCTIONS["cat"](parts, 0)

    def _move(self, size: Any, direction: Tensor) -> None:
        """Add ``size`` times a vector to the parameters."""
        size, start = read_number(size), 0
        for each in self._params:
            param = _to_real(each)
            end = start + param.numel()
            param.add_(direction[start:end].view_as(param), alpha=size)
            start = end

    # Unlike other optimizers', its steps cannot do without.
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Take up to ``max_iter`` steps; return the first loss."""
        with no_grad():
            return self._iterate(enable_grad()(closure))

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, max_iter, max_eval = to_plain(group["lr"]), group["max_iter"], group["max_eval"]
        tolerance = group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, calls = float(first), 1
        state["func_evals"] += 1
        gradient = self._gather_gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first
        memory = {name: state.get(name) for name in _MEMORY}
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            direction = self._find_direction(state, memory, gradient, group["history_size"])
            memory["prev_flat_grad"], memory["prev_loss"] = gradient.clone(), loss
            size = min(1.0, 1.0 / gradient.abs().sum()) * lr if state["n_iter"] == 1 else lr
            memory["d"], memory["t"] = direction, size
            slope = gradient.dot(direction)
            if slope > -tolerance:
                break
            before, new_calls = loss, 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [param.clone() for param in self._params]

                def evaluate(size: Any, start: Any = start, direction: Any = direction) -> tuple[float, Tensor]:
                    self._move(size, direction)
                    found = float(closure()), self._gather_gradient()
                    for param, old in zip(self._params, start, strict=True):
                        param.copy_(old)
                    return found

                loss, gradient, size, new_calls = search_strong_wolfe(
                    evaluate, size, direction, loss, gradient, slope, max_calls=max_eval - calls
                )
                memory["t"] = size
                self._move(size, direction)
            else:
                self._move(size, direction)
                if iteration != max_iter:
                    loss, gradient, new_calls = float(closure()), self._gather_gradient(), 1
            calls += new_calls
            state["func_evals"] += new_calls
            if (
                iteration == max_iter
                or calls >= max_eval
                or gradient.abs().max() <= group["tolerance_grad"]
                or direction.mul(size).abs().max() <= tolerance
                or abs(loss - before) < tolerance
            ):
                break
        state |= memory
        return first

    def _find_direction(self, state: dict[str, Any], memory: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
        """Return the inverse Hessian, as the last steps tell it, times the gradient, downward."""
        if state["n_iter"] == 1:
            memory |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
            return gradient.neg()
        change = gradient.sub(memory["prev_flat_grad"])
        step = memory["d"].mul(memory["t"])
        product = change.dot(step)
        changes, steps, inverses = memory["old_dirs"], memory["old_stps"], memory["ro"]
        if product > 1e-10:
            if len(changes) == history:
                for kept in (changes, steps, inverses):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / product)
            memory["H_diag"] = product / change.dot(change)
        factors = state.setdefault("al", [None] * history)
        found = gradient.neg()
        for at in reversed(range(len(changes))):
            factors[at] = steps[at].dot(found) * inverses[at]
            found.add_(changes[at], alpha=-read_number(factors[at]))
        found = found.mul(memory["H_diag"])
        for at in range(len(changes)):
            factor = changes[at].dot(found) * inverses[at]
            found.add_(steps[at], alpha=read_number(factors[at] - factor))
        return found
