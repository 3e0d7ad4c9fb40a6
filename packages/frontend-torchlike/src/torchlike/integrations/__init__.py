"""Other libraries that are told of tensors, each by the import of the module of its name."""
