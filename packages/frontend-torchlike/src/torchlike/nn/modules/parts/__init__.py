"""Layers that torch has in the modules of others, and that have a module of their own here."""
