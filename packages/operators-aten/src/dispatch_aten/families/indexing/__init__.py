"""Indexing, gathering, scattering and their backward operators."""
