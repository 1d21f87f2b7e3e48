"""What the commands do, as functions: load a file, choose, patch, verify, revert.

Nothing here prints or knows of a command line; the command, the batch and the Python interface
stand on it.

check     Two files compared, and the way back from a patched one
difftest  The original and the retuned file run, and what they do compared
facade    The Python interface `retune`: the work of the commands as functions with defaults
files     The files that a command reads and writes: refused early, written whole
host      The CPU of the machine that retune runs on, as Linux names it in /proc/cpuinfo
identify  What is recognised in a file: functions, jump tables, and what points into the code
kit       A kit of files: which sides it has, and whose model it is compared with
profile   Profiles of which way conditional moves and branches go: counted, and merged
progress  How long work says how far it is
report    The page of a retuned file: of a run, or of two files afterwards
"""
