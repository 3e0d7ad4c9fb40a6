"""Passes over graphs (source: ``torch.fx.passes``)."""
