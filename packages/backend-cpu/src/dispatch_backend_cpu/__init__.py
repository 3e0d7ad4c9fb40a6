"""The cpu backend: torch's operators on NumPy arrays, under the dispatch key CPU."""
