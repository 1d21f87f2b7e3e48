"""Differential tests: the original and the retuned file run, and what they print is compared.

case      What every differential test finds: cases, and for each whether both files did the same
corpus    Inputs from a folder of files and a file of argument lines; failing ones are kept so, too
drawn     Inputs drawn by Hypothesis from strategies of the user; one that fails is shrunk
executed  How many instructions a machine executes: a plugin of the emulator, compiled when it is
          needed
outcome   Two programs' runs compared: what differs, and what varies by itself and so says nothing
program   A command run on both sides with each of some inputs, and what it does compared
roots     Folders of libraries in which some are replaced: what a program under test is linked with
routine   A known routine in two files, on every shape of its contract: results, memory, registers
running   One run of a program, bounded in time and in what it prints, in a folder of its own
setting   How a command is run on either side: emulator, libraries, environment
suite     A folder of test programs: those that pass on the original must pass on the new file
boot/     Kernels booted in an emulator, and their consoles compared
directions/  Which way conditional moves and branches go while programs run, counted by an emulator
"""
