"""The signatures of functions and methods, and the overloads that their calls go to."""
