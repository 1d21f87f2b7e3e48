"""Blocks in another order: both files are read along the way that control takes.

opposites   Whether a branch is taken exactly where another one is not
reading     Two segments along one way: jumps inside the function are no part of it, and a branch
            with the opposite test leads to where the other one goes on
rows        Whether unwind rows say the same along each way
"""
