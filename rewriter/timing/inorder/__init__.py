"""Pipelines that issue in program order.

ahead     What lies between fetch and issue: blocks that wait, and stores that are still on their
          way
engine    The model of a CPU that issues in order
pipeline  An in-order pipeline: groups of instructions that issue together, and never stall
          afterwards
steady    An in-order pipeline that repeats one pass of a loop; see `inorder` for the whole
"""
