"""Groups of the tensor class's methods: operators of Python, ufuncs, indices, conversions."""
