"""The device ``toy``, which no program imports."""
