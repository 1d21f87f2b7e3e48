"""What is known of a file's text before anything is changed.

The door is `program`.

bundled_calls     What may be read beyond the calls and returns of a library of bundled code
bundled_liveness  Which registers may be read where a region of bundled code begins
edges             The edges between blocks: where control goes from the instruction that ends each
exception_ranges  Where control goes on when an instruction in an exception range throws
flow              The flow of control of a whole text: blocks and edges, as arrays
functions         Functions of a linked file: unwind table first, then sized symbols; names from
                  symbols
jumps             Where computed jumps go, once the flow of control is known as far as it must be
labels            Which addresses in text a function really makes, of those that its instructions
                  could add up to
liveness          Which registers anything may read, at every block: one fixed point over the whole
                  text; and which anything that is seen may come from, in a function
loops             The innermost loops of a text, and how many loops each block is in
parts             Which functions are parts of one, between which control goes as inside of one
program           Everything that retune knows about a file's text before it touches it
relations         Registers that differ by a constant, at every block of a function
reservations      Addresses between a load-locked and the store-conditional that it is for, and
                  jumps outside all functions from one and back
returning         Which calls never come back, as far as the text shows it
values/           What registers hold, as far as the text shows it
"""
