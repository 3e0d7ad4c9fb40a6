"""The code of graphs: unique names, literals, the function, and its arguments and results as trees."""
