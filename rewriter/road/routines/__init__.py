"""Known routines become tuned ones.

The door is `routine`.

choices           What may stand for known routines: tried and weighed before places are given
function_ends     Room for pieces of routines in a kernel: behind its text, and what layouts left
                  at their ends
kernel_placement  Known routines of a kernel become tuned ones, in pieces
routine           A known routine becomes a tuned one
"""
