"""Levels: the stack that function transforms (`torchlike.func`) open, and the layer that runs calls through it.

A level is one transform that is under way. Its tensors are ordinary ones whose data names the tensor one level below
(`tensors`). A call arrives at ``FuncTorchDynamicLayerFrontMode``, whose fallback (`front`) hands it to the level on top of
the stack: `vmap_level` runs a batching rule, `grad_level` records for backward; both go on with the stack popped.

Further kinds of levels subclass `stack.TransformLevel`.
"""
