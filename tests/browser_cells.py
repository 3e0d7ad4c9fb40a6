"""Cells that show each kind of object that has a form for notebooks; the last expression of a cell is displayed."""

from __future__ import annotations

import ast
import textwrap

CELLS = {
    "setup": """
        import dispatch_core as dc
        import torchlike as torch
        torch.manual_seed(0)
        """,
    "matrix": "torch.randn(5, 4, requires_grad=True) * 100",
    "large": "torch.arange(40_000).reshape(200, 200)",
    "vector": "torch.nn.Parameter(torch.linspace(0, 1, 7))",
    "cube": "torch.ones(2, 3, 3)",
    "meta": "torch.empty(1024, 1024, device='meta')",
    "backends": "dc.backends()",
    "explanation": "dc.explain('aten::add', torch.ones(2), torch.ones(2, requires_grad=True))",
    "refusal": "dc.explain('aten::add', torch.ones(2), '<b>two</b>')",
    "trace": """
        with dc.trace() as trace:
            x = torch.ones(3, 3)
            (x @ x).relu().sum()
        trace
        """,
    "pipeline": """
        with dc.pipeline() as waiting:
            kept = (torch.ones(8, 8) * 2 + 1).relu()
            kept.add_(1)
            lost = kept.t() * 3
            del lost
            shown = dc.pipeline.__doc__ and waiting._repr_html_()
        from types import SimpleNamespace
        type("Waiting", (), {"_repr_html_": lambda self: shown})()
        """,
    "statistics": "waiting.stats()",
    "capture": """
        @torch.capture
        def step(x):
            return (x * 2).relu()
        for size in (2, 2, 2, 3, 3):
            step(torch.ones(size))
        with dc.profile():
            step(torch.ones(2))
        step.stats()
        """,
    "profile": """
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        with dc.profile() as profile:
            with profile.region("forward <1>"):
                loss = model(torch.randn(32, 64)).sum()
            loss.backward()
            with dc.pipeline():
                total = (torch.ones(100, 100).exp() * 2 + 1).sum()
            total.item()
        profile
        """,
    "flame-graph": """
        with torch.profiler.record_function("a region of a name that is much longer than its box " * 3):
            pass
        profile.flame_graph()
        """,
    "module": """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
                self.body = torch.nn.Sequential(self.first, torch.nn.BatchNorm2d(8), torch.nn.ReLU())
                self.head = torch.nn.LazyLinear(10)
        Net().eval()
        """,
    "large-module": "torch.nn.Transformer(64, 4, 40, 40, batch_first=True)",
    "averages": """
        with torch.profiler.profile(record_shapes=True, profile_memory=True) as prof:
            model(torch.randn(32, 64)).sum().backward()
        prof.key_averages(group_by_input_shape=True)
        """,
    "coverage": "dc.coverage('cpu', 'meta')",
}


def show_cells():
    """Yield the name and the HTML of each object, as a notebook would display it."""
    space = {}
    for name, source in CELLS.items():
        *statements, last = ast.parse(textwrap.dedent(source).strip()).body
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(statements, []), name, "exec"), space)
            shown = eval(compile(ast.Expression(last.value), name, "eval"), space)
            if hasattr(shown, "_repr_html_"):
                yield name, shown._repr_html_()
        else:
            exec(compile(ast.Module([*statements, last], []), name, "exec"), space)
