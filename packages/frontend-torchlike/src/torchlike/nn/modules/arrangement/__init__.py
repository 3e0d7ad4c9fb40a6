"""Layers that arrange elements: their order, their shape, borders around them, copies between them."""
