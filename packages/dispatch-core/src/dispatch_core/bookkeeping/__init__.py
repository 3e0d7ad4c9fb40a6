"""What is kept about registrations: their levels and origins, how they are undone, and who is told that they changed."""
