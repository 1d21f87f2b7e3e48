"""What `substitute` is made of: which tuned routines gain, and where they stand in pieces.

pieces    A tuned routine in pieces: where a kernel has room, no piece is too small to be used
weighing  What an old routine and those that may replace it take on a CPU's model
worth     Whether a tuned routine gains by a CPU's model: both in the calls that programs make most
"""
