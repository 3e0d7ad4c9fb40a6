"""The frontend's part in captured functions: what tensors, modules and optimizers keep besides arrays, at every replay."""
