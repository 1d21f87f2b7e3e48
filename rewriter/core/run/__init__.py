"""How work is carried out: processes, what is kept between questions, and what happens on trouble.

apart       Work in a copy of this process: what it loads and leaves in memory goes with the copy
garbage     Garbage: looked for less often where little of what is made is garbage, and given back
guard       One function's trouble stays that function's: it is left alone, and the report says why
interrupts  How a process ends that somebody interrupts: soon, with one line and nothing left
            behind
kept        Answers about instructions that are asked again and again
ledger      What the steps of a run cost: processor time, waiting, and counts
portable    How values go from process to process
workers     Work on many items, shared out to processes that are copies of this one
"""
