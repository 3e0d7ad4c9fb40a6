"""How functions become graphs: wrapped functions, what is replaced while tracing, the arguments of the root."""
