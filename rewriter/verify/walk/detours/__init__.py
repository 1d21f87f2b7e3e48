"""Branches that lead around plain moves, read as the conditional moves that they are.

The door is `reading`.

choices  Instructions that choose, read as the branch over a move that they are
meaning  Whether a conditional move is a plain move by a branch's test
reading  The text of a new file, in which such branches are conditional moves
shapes   Branches that may lead to moves and back, or over some, wherever they stand
"""
