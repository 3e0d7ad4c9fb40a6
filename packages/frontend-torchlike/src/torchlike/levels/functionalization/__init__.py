"""The level of functionalize: writes become calls without writes, and tensors outside are written at the end."""
