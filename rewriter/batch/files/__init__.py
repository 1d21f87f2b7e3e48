"""What a run writes: its journal, an output folder, and results under the names of their files.

journal  What is done, on the disk before anything is replaced: a run that was killed goes on from
         it
mirror   An output folder that has all that the trees have: folders, links, and files of other
         kinds
placing  How a result takes the name of its file: in one step, and all that belongs to the file
         stays
"""
