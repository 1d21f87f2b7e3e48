"""Whether two terms are equal, by trial and by Z3.

The door is `prover`.

assumed     Terms under assumptions of alignment: what is known of low bits becomes a number
decided     A pattern on many assignments: whether one refutes it, and which of its parts always
            agree
exchange    What several processes tell each other: patterns that are decided, routines that were
            tried
lane        One assignment in plain numbers, for one term much quicker than NumPy's calls
lower       Patterns to Z3: the only place where the symbolic reading meets the solver
noise       Many assignments at once: which terms differ, without asking a solver
patterns    Claims as patterns: what two terms share is anything, and what is left is a few nodes
prover      Equality of terms, proved by Z3 once per normalised pattern
remembered  Patterns that provers remember of one another: what is said of one depends on it alone
samples     What terms are on a few assignments: two that differ there are not equal
sweep       Sweeping: parts of a claim that agree on all that was tried are shown equal first
witness     Assignments on which conditions hold that hardly any assignment fulfils
"""
