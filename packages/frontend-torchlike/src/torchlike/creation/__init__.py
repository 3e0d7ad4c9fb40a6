"""Functions that make tensors: of sizes, numbers, nested lists, and data of other libraries."""
