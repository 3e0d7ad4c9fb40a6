"""Recurrent networks, their cells, packed sequences and losses of sequences."""
