"""Differential tests: the original and the retuned file run, and what they print is compared."""
