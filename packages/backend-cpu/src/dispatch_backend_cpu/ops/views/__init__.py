"""Views, copies, and functions that join or repeat."""
