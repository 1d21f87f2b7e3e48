"""Pipelines that dispatch groups in order, issue what is ready, and complete in order.

The door is `engine`.

chip    A chip with dispatch groups runs a trace
core    The core of a pipeline of dispatch groups: fetch, dispatch, issue, completion, in events
engine  The model of a CPU that dispatches groups in order to units that take what is ready
foretold
        What the front foretells of branches: their direction, and where those to registers go
group   The group that is being put together: what still fits into it
items   An instruction as a pipeline of dispatch groups sees it; looked up once
memory  Loads and stores of a pipeline of dispatch groups: forwarding, the data cache, stores'
        queue
steady  Loops on a pipeline of dispatch groups, once they run
"""
