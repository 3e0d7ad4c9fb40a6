"""Parts of passes (source: ``torch.fx.passes.utils``)."""
