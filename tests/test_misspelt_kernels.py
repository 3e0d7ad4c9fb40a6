"""A vendor's kernel under a name that no operator has is warned of, and leaves other devices' calls alone."""

import subprocess
import sys

PROGRAM = """
import warnings
import dispatch_core as dc

class Mine:
    pass

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    backend = dc.register_backend(
        dc.BackendInfo("mine", array_types=(dc.ArrayType(Mine),)),
        {"aten::add.Tensr": print, "aten::softmax": print, "aten::mul": print},
    )
import torchlike

x = torchlike.ones(2)
print((x + 1).tolist(), x.add(1, alpha=2).tolist(), torchlike.mul(x, 3, out=x.clone()).tolist())
print(torchlike.nn.functional.softmax(x, 0).tolist(), dc.ops.aten.add.overloads())
"""


def test_other_devices_compute_as_before():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert done.stdout == "[2.0, 2.0] [3.0, 3.0] [3.0, 3.0]\n[0.5, 0.5] ['Tensor', 'Scalar', 'out']\n"
