"""Tensors of layouts in files: their components, and the tensors made of them again."""
