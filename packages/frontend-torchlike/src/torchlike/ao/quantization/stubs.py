"""Places where a network goes over to integers and back (source: ``torch.ao.quantization.stubs``)."""

from __future__ import annotations

from typing import Any

from torchlike import nn

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(nn.Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantStub(_Stub):
    """Mark where numbers become integers; `convert` replaces it (source: ``torch.ao.quantization.QuantStub``)."""


class DeQuantStub(_Stub):
    """Mark where integers become numbers; `convert` replaces it (source: ``torch.ao.quantization.DeQuantStub``)."""


class QuantWrapper(nn.Module):
    """Put the stubs before and behind a module (source: ``torch.ao.quantization.QuantWrapper``)."""

    quant: Any
    dequant: Any
    module: Any

    def __init__(self, module: Any) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:  # torch's name
        return self.dequant(self.module(self.quant(X)))
