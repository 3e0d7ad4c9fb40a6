"""Modules of torch that are there by name only: they can be imported and named, and refuse at the use.

Programs see them where torchlike stands in for torch, and nowhere else; `stand_in` asks `modules` for them.
"""
