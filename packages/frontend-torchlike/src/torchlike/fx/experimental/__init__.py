"""What torch has below ``torch.fx.experimental`` and libraries import."""
