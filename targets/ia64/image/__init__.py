"""What is known of an IA-64 file's code: regions, tables, unwind descriptors.

The door is
`regions`.

facts         What is known of all code of a file at once, bundle by bundle
jumps         Computed branches: where they go, as far as their code has a form that is understood
layout        Regions with new code put in their places: in the old ones, or moved up within the
              function
masks         What of IA-64 code depends on where it was put and what it was linked with
regions       A file's functions as regions of straight code, and what must stay as it is
rooms         The place of a function, as room for other code: what else enters it, and how far it
              reaches
saves         What a tuned routine saves where, and unwind descriptors that say so
superblocks   Straight regions joined where control leaves by a branch ahead, or falls through
tables        What data says about addresses of code: kernel tables, jump tables, words that read
              like it
text          All text of a file as arrays over its slots, and what its instructions say about
              addresses
unwind        Unwind descriptors: which slots they name, and the same bytes naming other slots
unwind_names  What unwind descriptors of a prologue describe, by their numbers
"""
