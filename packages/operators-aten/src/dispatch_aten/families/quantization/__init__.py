"""Numbers that are rounded to those which small integers represent."""
