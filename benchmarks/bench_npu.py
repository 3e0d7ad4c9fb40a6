"""The host's time for an operator of the npu, against torch on one thread: ``python benchmarks/bench_npu.py``.

Without a toolkit in the environment the simulator is built and used: what its functions do in C counts as ours. The two
last rows are the ctypes calls alone, with the simulator's part: one that only looks its argument up, and a second phase.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from harness import Measure, parser, report, run

import dispatch_backend_npu
import dispatch_core as dc
import torchlike
from dispatch_backend_npu import simulator
from dispatch_pipelines.run.executors import PlanRun

#: Operators in a row, where calls are measured many at a time.
COUNT = 20


def run_of_plan(program: Callable[[], object]) -> Callable[[], None]:
    """Return the run of the plan that is kept for a function's calls, without their recording."""
    runs: list[Callable[[], None]] = []
    original = PlanRun.__call__

    def call(self: Any, report: Any) -> bool:
        plan, values = self._plan, list(self._found.values)

        def again() -> None:
            mine = [*values, *plan.constants]
            for part in plan.parts:
                part.run(mine)
                for index in part.frees:
                    mine[index] = None

        runs.append(again)
        return original(self, report)

    PlanRun.__call__ = call  # type: ignore[method-assign]
    try:
        for _ in range(3):
            with dc.pipeline():
                kept = program()
        del kept
    finally:
        PlanRun.__call__ = original  # type: ignore[method-assign]
    return runs[-1]


def measures() -> list[Measure]:
    """Return the rows."""
    from dispatch_backend_npu.acl import library
    from dispatch_backend_npu.aclnn.descriptors import Descriptors
    from dispatch_backend_npu.runtime import stream

    a, t = torchlike.ones(1, device="npu"), torch.ones(1)
    b, u = torchlike.ones(1, device="npu"), torch.ones(1)

    def chain() -> Any:
        found = a
        for _ in range(COUNT):
            found = torchlike.add(found, b)
        return found

    def torch_chain() -> Any:
        found = t
        for _ in range(COUNT):
            found = torch.add(found, u)
        return found

    def in_pipeline() -> Any:
        with dc.pipeline():
            found = chain()
        return found

    raw: Any = a._dispatch_data
    descriptors = Descriptors()
    tensor = descriptors.add("aclTensor*", (raw.spec, 0))
    set_address, pointer = library.bind("aclSetRawTensorAddr"), raw.block.pointer
    first, second = library.bind("aclnnReluGetWorkspaceSize"), library.bind("aclnnRelu")
    executor = _repeatable(first, tensor)
    queue = stream.current().pointer
    return [
        Measure("add / torch.add", lambda: torchlike.add(a, b), lambda: torch.add(t, u), 8.0),
        Measure("add_ / torch's", lambda: a.add_(b), lambda: t.add_(u), 8.0),
        Measure("neg / torch.neg", lambda: torchlike.neg(a), lambda: torch.neg(t), 8.0),
        Measure(f"{COUNT} adds / torch's", chain, torch_chain, 8.0),
        Measure(f"{COUNT} adds through a cached plan / one by one", run_of_plan(chain), chain, 0.5),
        Measure(f"{COUNT} adds recorded and run / one by one", in_pipeline, chain),
        Measure("ctypes: an address is set / torch.add", lambda: set_address(tensor, pointer), lambda: torch.add(t, u)),
        Measure(
            "ctypes: a second phase / torch.add", lambda: second(None, 0, executor, queue), lambda: torch.add(t, u)
        ),
    ]


def _repeatable(first: Callable[..., int], tensor: Any) -> int:
    import ctypes

    from dispatch_backend_npu.acl import library

    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert not first(tensor, tensor, ctypes.byref(size), ctypes.byref(executor))
    library.call("aclSetAclOpExecutorRepeatable", executor)
    return executor.value or 0


def main() -> None:
    """Print the table."""
    arguments = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    if not dispatch_backend_npu.is_available():
        os.environ["ASCEND_HOME_PATH"] = str(simulator.build())
    print(report(run(measures(), repeats=arguments.repeats), arguments.json))


if __name__ == "__main__":
    main()
