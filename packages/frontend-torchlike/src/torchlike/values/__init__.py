"""Plain values of tensors and of the process: sizes, dtypes, devices, layouts, settings."""
