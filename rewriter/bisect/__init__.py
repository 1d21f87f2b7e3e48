"""Finds the edits of a patched file that make a command fail."""
