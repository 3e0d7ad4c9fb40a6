"""Captured functions: recording a call, comparing two recordings, replays."""
