"""Operators: registrations, the dispatch table, the function that runs for a mask, overloads, libraries."""
