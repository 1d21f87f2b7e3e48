"""Symbolic values.

The door is `term`.

evaluate  The value of a term under an assignment: what a counterexample or a random test needs
term      Hash-consed terms: the symbolic values of the table's meanings
"""
