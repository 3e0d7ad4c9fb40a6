"""Attention, embeddings and their bags."""
