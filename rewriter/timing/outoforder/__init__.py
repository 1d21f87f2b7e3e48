"""Pipelines that issue what is ready, and retire in program order.

engine    The model of a CPU that issues whatever is ready
fetch     The front of an out-of-order pipeline: one aligned block a cycle, if it was foreseen
issue     Issue: the oldest ready instruction first, to a pipe that is free and where its operands
          are
mapper    Renaming: up to four instructions of one block a cycle, if there is room behind
memory    Loads and stores of an out-of-order pipeline: queues, order, forwarding, traps, data
          cache
pipeline  An out-of-order pipeline, instruction by instruction in program order
places    What never changes about an instruction where it stands, looked up once for each address
retire    Retirement in program order: so many a cycle, so many branches among them
steady    An out-of-order pipeline that repeats one pass of a loop; see `outoforder` for the whole
"""
