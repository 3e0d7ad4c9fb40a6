"""The primitives: data to and from the host, which every backend implements, and views as functions."""
