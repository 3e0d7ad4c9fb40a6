"""Custom operators: made of functions with type hints, extended, and checked against their declarations."""
