"""Runs a job under torch: ``python under_torch.py JOB``.

The index's torchvision is built upon torch for GPUs, and beside a torch without them its machine code does not load. It then
asks for two operators all the same when it is imported, so these are declared first, without kernels.
"""

from __future__ import annotations

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import torch


def main() -> None:
    """Declare the operators where torchvision cannot, and run the job as its own process would."""
    found = find_spec("torchvision")
    if found is not None and found.origin is not None:
        try:
            torch.ops.load_library(str(Path(found.origin).with_name("_C.so")))
        except OSError:
            for name in ("nms", "qnms"):
                torch.library.define(
                    f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                )
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
