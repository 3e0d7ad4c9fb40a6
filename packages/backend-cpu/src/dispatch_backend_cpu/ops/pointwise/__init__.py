"""Element-wise kernels, and the formulas that NumPy lacks."""
