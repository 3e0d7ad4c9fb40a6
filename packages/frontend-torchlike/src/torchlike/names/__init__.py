"""torch's names, the operators' among them: which there are, when they are imported, and their docstrings."""
