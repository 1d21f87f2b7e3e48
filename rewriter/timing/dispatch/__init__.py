"""Pipelines that dispatch groups of instructions in order, and what they take.

`engine` is the door: a CPU with such a pipeline as an object.

- `items`: an instruction as the pipeline sees it
- `group`: what fits into a dispatch group
- `core`: fetch, dispatch, issue, completion, one instruction after the other
- `memory`: loads and stores of a trace, with the data cache
- `chip`: a trace, with caches and predictors
- `steady`: loops once they run, and the groups of straight code
"""
