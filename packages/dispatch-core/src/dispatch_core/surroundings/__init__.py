"""What the process finds around itself: environment variables, installed distributions, and where messages go."""
