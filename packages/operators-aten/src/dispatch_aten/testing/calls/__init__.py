"""Functions that the samples of rows call, and calls that follow one pattern; `samples` makes further calls of them."""
