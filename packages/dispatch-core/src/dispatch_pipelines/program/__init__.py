"""Programs: nodes and values, their fingerprints, plans made of them, guards and donated memory."""
