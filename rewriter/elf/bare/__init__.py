"""Files without section headers: what their program headers lead to.

The door is `data`.

data       What of a file is certainly data, also where a segment makes it executable
dynamic    The tables that the loader reads, as the dynamic table leads to them
unwinding  The tables that the unwinder reads, as their search table leads to them
"""
