"""The product: floors from `core` (vocabulary) to `interface` (`import retune`).

analysis/   What is known of a file's text before anything is changed
api/        What the commands do, as functions: load a file, choose, patch, verify, revert
batch/      Many files: trees and lists of files retuned by a policy, each output verified before
            it counts
bisect/     Finds the edits of a patched file that make a command fail
cli/        The `retune` command: a thin layer of Click over library functions
contracts/  Contracts of known routines, by name: what each must do, and cases to try it on
core/       The vocabulary of all floors: instructions, values, code, targets, edits
difftest/   Differential tests: the original and the retuned file run, and what they print is
            compared
elf/        ELF files: read and checked, and written as byte patches
identify/   Which routines a file has: names, signatures, behaviour by shape, and profiles
interface/  Retune existing ELF executables to the CPU that runs them, from Python
kit/        Folders that try and time two libraries on a machine without retune
packages/   Packages of distributions: unpacked without trust, packed again with all that they had
report/     What people and programs look at: every report gives a JSON document, lines, and grids
road/       The road of a file from bytes to verified bytes
suites/     Suites of routines that articles measured
timing/     Timing models: they read a CPU's description and a trace of executed steps
verify/     The independent verifier: two files in, a verdict out
"""

from rewriter.core.compiled import install

install()
