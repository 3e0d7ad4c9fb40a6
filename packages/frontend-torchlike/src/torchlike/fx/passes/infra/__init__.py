"""Passes and their order (source: ``torch.fx.passes.infra``)."""
