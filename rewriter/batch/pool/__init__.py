"""Processes that carry tasks out, within a limit of memory, here or on a cluster.

cluster    The same tasks on a Dask cluster: bytes go to its workers and come back, no files are
           shared
memory     How much memory the machine gives, and how much a file takes; all in bytes
processes  Tasks carried out by processes of this machine, within a limit of memory
watch      Who looks on while files are worked on
worker     A process that does one task after the other, until nobody asks any more
"""
