"""What the commands do, as functions: load a file, choose, patch, verify, revert.

Nothing here prints or knows of a command line; the command, the batch and the Python interface
stand on it.
"""
