"""Ways to combine gradients, and inputs that end earlier in some processes (source: ``torch.distributed.algorithms``)."""
