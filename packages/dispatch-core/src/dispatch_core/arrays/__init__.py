"""Arrays: their types, whose they are, their readers, and the tensor classes around them."""
