"""What orders IA-64 instructions, and packs them into bundles.

The door is `bundler`.

bundler     Straight code arranged in bundles for one CPU: what `passes/scheduling/bundled` asks of
            IA-64
nodes       What packing works on: nodes and what orders them, a problem
packing     Packing: instructions with dependences into bundles, few of them and few cycles
ports       Whether a cycle goes on: what ports are left, and what ends it, asked once of a CPU's
            model
rows        What each row of the table says about the order of its instructions, found once a row
scheduling  What a scheduler asks about IA-64 instructions: registers, places, accesses, what stays
            in order
search      The search for texts of bundles, one bundle at a time
shapes      Shapes of bundles: templates without the stop at their end, and all of them as one tree
"""
