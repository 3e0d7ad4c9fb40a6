"""How text becomes functions: tracebacks, pdb and inspect show generated source, and it goes with the last code."""

from __future__ import annotations

import gc
import inspect
import linecache
import sys
import threading
import time
import traceback
import weakref
from collections import deque

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.calls import emit
from dispatch_core.calls.emit import define, is_generated, make_function, parse_expression
from dispatch_core.calls.lazy_function import FIRST_CALLS, LazyFunction
from dispatch_core.tracebacks import GENERATED


def entries(label):
    make_function(define("f()", ["return None"]), "another text", {})
    linecache.checkcache()
    return [file for file in linecache.cache if file.startswith(f"{GENERATED}{label}")]


def test_a_traceback_shows_the_generated_line():
    divide = make_function(define("divide(x, y)", ["if x:", "    return x / y"]), "division", {})
    with pytest.raises(ZeroDivisionError) as caught:
        divide(1, 0)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.line) == ("<dispatch division>", 3, "return x / y")
    assert inspect.getsource(divide) == "def divide(x, y):\n    if x:\n        return x / y\n"


def test_functions_inside_have_the_source_too():
    text = define("inverses(xs)", ["return [*map(lambda x: 1 / x, xs)]"])
    with pytest.raises(ZeroDivisionError) as caught:
        make_function(text, "inverses", {})([0])
    assert [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)[1:]] == [
        "return [*map(lambda x: 1 / x, xs)]"
    ] * 2


def test_two_texts_of_one_label_have_files_of_their_own():
    first, second = (make_function(define("f()", [f"return {n}"]), "twin", {}) for n in (1, 2))
    assert [inspect.getsource(each).splitlines()[1] for each in (first, second)] == ["    return 1", "    return 2"]
    assert {first.__code__.co_filename, second.__code__.co_filename} == {"<dispatch twin>", "<dispatch twin, 2>"}


def test_an_entry_goes_with_the_last_code_of_its_text():
    made = make_function(define("f(x)", ["return x"]), "brief", {}, is_shared=True)
    code = made.__code__.replace(co_firstlineno=7)
    assert entries("brief")
    del made
    gc.collect()
    assert entries("brief")
    del code
    gc.collect()
    assert not entries("brief")


def test_an_operator_that_was_called_keeps_the_source_of_its_code():
    registry = dc.Registry()
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("half(int x) -> float")
        library.impl("half", lambda x: 1 / x, "CompositeImplicitAutograd")
        op = registry.ops.t.half.default
        assert not entries("call of t::half")
        for _ in range(1 + FIRST_CALLS):  # the one whose result is held against the schema does not count
            assert op(2) == 0.5
        assert not entries("call of t::half")
        assert op(2) == 0.5
        assert inspect.getsource(op).startswith("def __call(x):\n")
        assert len(entries("call of t::half")) == 1
    del registry, library, op
    gc.collect()
    assert not entries("call of t::half")


def test_source_that_comes_and_goes_does_not_pile_up():
    def make():
        return make_function(define("f()", ["return 1"]), "often", {})

    kept = make()
    for _ in range(100):
        make()
    gc.collect()
    assert entries("often") == [kept.__code__.co_filename]


def test_what_was_not_generated_is_called_and_keeps_its_own_globals():
    def mean(x, dim=0):
        return x.mean(dim)

    lazy = LazyFunction(lambda: mean, name="mean")
    assert not is_generated(mean)
    assert lazy.function(np.ones((2, 3))).shape == (3,)
    assert lazy.function.__name__ == "mean"
    assert lazy.function.__globals__.keys() <= {"__builtins__", "__name__", "__lazy", "__trim", "__target"}


def test_a_lazy_function_goes_with_its_last_reference():
    lazy = LazyFunction(lambda: make_function(define("f(x)", ["return x"]), "f", {}))
    assert lazy.function(1) == 1
    found = weakref.ref(lazy.function)
    del lazy
    gc.collect()
    assert found() is None


def test_functions_can_go_while_linecache_looks_through_its_entries():
    made = [make_function(define("f(x)", ["return x"]), "going", {}) for _ in range(3)]
    files = list(linecache.cache)  # ``checkcache`` takes the names first, and then reads the entry of each
    del made
    gc.collect()
    assert {file for file in files if file not in linecache.cache} == set()
    assert entries("going") == []


def interrupt_at(number, codes):
    """Return a trace function that raises at the ``number``-th instruction of functions with ``codes``."""
    left = [number]

    def trace(frame, event, _):
        if frame.f_code not in codes:
            return trace
        frame.f_trace_opcodes = True
        if event == "opcode":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    return trace


def test_an_interrupt_between_two_instructions_leaves_no_source_and_no_later_error(monkeypatch):
    sources = {}
    for name, value in (("_source_cache", lambda: sources), ("_watches", {}), ("_unused", deque())):
        monkeypatch.setattr(emit, name, value)
    codes = {emit._SourceEntry.__init__.__code__, emit._discard_unused.__code__}
    tracer, number, is_over = sys.gettrace(), 0, False
    while not is_over:
        number += 1
        emit.make_function(emit.define("f()", ["return 1"]), "first", {})  # unused at once, to be discarded
        sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for such a frame when the function is set
        sys.settrace(interrupt_at(number, codes))
        try:
            emit.make_function(emit.define("f()", ["return 2"]), "second", {})
            is_over = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(tracer)
        gc.collect()
        assert emit.make_function(emit.define("f()", ["return 3"]), "third", {})() == 3
        emit._discard_unused(sources)
        assert (emit._watches, [*emit._unused]) == ({}, [])
        assert all(time == emit._OUTDATED for _, time, _, _ in sources.values())
    assert number > 100


def test_threads_make_trees_at_once_while_the_garbage_collector_lets_others_run():
    def make():
        for number in range(300):
            try:
                parse_expression(f"f(a * b + c, d[{number}], *(x for x in y))")
            except SystemError as error:
                errors.append(error)

    errors, before = [], (sys.getswitchinterval(), gc.get_threshold())
    gc.callbacks.append(lambda *_: time.sleep(0))
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(50)
        threads = [threading.Thread(target=make) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        gc.callbacks.pop()
        sys.setswitchinterval(before[0])
        gc.set_threshold(*before[1])
    assert errors == []
