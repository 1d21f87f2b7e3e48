"""A kit for a machine that has no retune: what it runs, what it measures, and what that says.

The door is `folder`.  A kit has the old and the new files of a library, a program that calls its
routines, cases with what must come out, the cycles that a CPU's model expects, and a shell script
that runs all of it and writes one text file.  `docs/kit.md` says how it is used.

cases    Cases of contracts as the program reads them, and the checksums that must come out
folder   Makes the folder of a kit
model    Modelled cycles of a file's routines at the points that are timed
result   What the text file of a kit's run says, beside the model
probe.c  The program: it calls routines of the library that it is started with
run.sh   The script: it needs a shell
"""
