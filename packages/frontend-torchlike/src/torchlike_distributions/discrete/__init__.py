"""Distributions of whole numbers and classes, and their relaxed forms."""
