"""Element-wise arithmetic, roundings, logic and elementary functions."""
