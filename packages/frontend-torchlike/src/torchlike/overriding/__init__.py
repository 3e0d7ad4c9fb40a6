"""How a call is handed to what overrides its function: the classes of its arguments, and modes."""
