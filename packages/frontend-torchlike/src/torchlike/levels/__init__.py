"""Levels: transforms inside one another, such as `vmap` of a gradient."""
