"""Plugins that another thread is loading when the process forks."""

from __future__ import annotations

import os

import pytest

PLUGIN = """
    import os, __main__
    import dispatch_core as dc
    from dispatch_core import hookimpl

    class Array: ...

    if os.environ["LOADING"] == str(os.getpid()):
        {before}
        __main__.loading.set()
        __main__.child_ended.wait(25)

    @hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo("acme", "", (dc.ArrayType(Array, shape=lambda a: (), dtype=lambda a: None),))

    @hookimpl
    def dispatch_register(registry):
        pass
"""
PROGRAM = """
import os, threading, time
os.environ["LOADING"] = str(os.getpid())
import dispatch_core as dc
loading, child_ended = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: dc.load_backend("acme"))
thread.start()
assert loading.wait(25)
child = os.fork()
if not child:
    print(dc.load_backend("acme").name, flush=True)
    os._exit(0)
until = time.monotonic() + 20
while time.monotonic() < until:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.01)
else:
    os.kill(child, 9)
child_ended.set()
thread.join()
print("loaded", dc.load_backend("acme").name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("before", ["pass", 'dc.Library("acme", "DEF").define("f(int x) -> int")'])
def test_a_plugin_that_was_loading_at_a_fork_is_loaded_again_in_the_child(install, run_python, before):
    modules = {"acme_plugin": PLUGIN.format(before=before)}
    site = install("acme", backends={"acme": "acme_plugin"}, modules=modules, requires=["dispatch-core>=0.1,<0.2"])
    done = run_python("-W", "ignore::DeprecationWarning", "-c", PROGRAM, site=[site], timeout=60)
    assert (done.stdout, done.stderr) == ("acme\nloaded acme\n", "")
