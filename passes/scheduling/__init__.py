"""Instructions in another order: dependences, schedulers, bounds.

bundled         Schedule straight regions of a machine whose code says its groups: fewer cycles,
                fewer nops
bundled_exact   The exact scheduler of straight regions: OR-Tools CP-SAT, with effort counted and
                no clock
bundled_graph   Dependences among the instructions of a straight region whose code says its groups
bundled_model   The model of a CPU that issues bundles, as schedulers ask it; answers are kept
bundled_proved  The best order of a straight region, with a bound that no order can beat
dependence      What must stay in order in one pass of a loop, and how long each result takes
exact           The exact scheduler, for loops of one block: OR-Tools CP-SAT, with effort counted
                and no clock
exits           Exits in the middle of straight code: what may pass a branch that may leave it
incumbent       The best order of a loop's pass that is found, and how good it is
list_scheduler  A list scheduler: one place after another gets the best instruction that may stand
                there
renaming        Give values in straight code registers of their own, so that fewer instructions
                wait
shown           That straight code in another order does the same, shown twice
solver          OR-Tools CP-SAT, loaded without pandas, which only its methods for whole tables
                need
superblocks     A list scheduler for superblocks of a machine without bundles, with a model of the
                CPU as judge
"""
