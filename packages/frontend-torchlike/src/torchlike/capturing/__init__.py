"""The frontend's part in captured functions: state of tensors, modules and optimizers besides arrays, at each replay."""
