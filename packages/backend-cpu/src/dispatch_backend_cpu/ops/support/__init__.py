"""Parts of kernels of every kind: constants, shape rules, fast paths, folds of ufuncs, places."""
