"""The interpreter ends quietly while a pipeline has steps that have not run."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import dispatch_core as dc
import numpy as np
add = dc.ops.aten.add.Tensor
pipe = dc.pipeline()
{body}
"""


ENDINGS = {
    "open": """
        pipe.__enter__()
        kept = add(np.ones(2), np.ones(2))
    """,
    "collected": """
        pipe.__enter__()
        kept = add(np.ones(2), np.ones(2))
        del pipe
    """,
    "generator": """
        def steps():
            with pipe:
                yield add(np.ones(2), np.ones(2))
        suspended = steps()
        kept = next(suspended)
    """,
    "exit": """
        import sys
        with pipe:
            kept = add(np.ones(2), np.ones(2))
            sys.exit(0)
    """,
    "atexit": """
        import atexit
        pipe.__enter__()
        kept = add(np.ones(2), np.ones(2))
        atexit.register(lambda: print(kept.result().tolist()))
    """,
    "daemon": """
        import threading
        stop = threading.Event()
        def run():
            with pipe:
                kept = add(np.ones(2), np.ones(2))
                stop.wait()
        threading.Thread(target=run, daemon=True).start()
    """,
    "finaliser": """
        class Late:
            def __del__(self):
                self.kept.result()
        late = Late()
        pipe.__enter__()
        late.kept = add(np.ones(2), np.ones(2))
    """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_quietly_with_pending_steps(ending):
    program = PROGRAM.format(body=textwrap.dedent(ENDINGS[ending]))
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ("", "[2.0, 2.0]\n")
