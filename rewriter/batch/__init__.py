"""Many files: trees and lists of files retuned by a policy, each output verified before it counts.

- `engine`: the door; `run` takes trees, files and a policy, and gives a `Summary`
- `find`: which files there are, which of them are one file by several names, which are foreign
- `policy`: what is done to which file; a TOML file, its errors with line and key
- `globs`: patterns of paths
- `debug`: debug files, and what they describe
- `settings`: what a policy says of one machine, every name looked up
- `task`: one file in one process: bytes in, verified bytes out
- `outcome`: what became of a file
- `pool`: processes of this machine, within a limit of memory
- `worker`: what such a process does
- `memory`: how much memory there is, and how much a file takes
- `cluster`: the same tasks on a Dask cluster
- `journal`: what is done, on the disk before anything is replaced; where a killed run goes on
- `placing`: how a result takes the name of its file: in one step, with all that belongs to it
- `mirror`: an output folder that has all that the tree has
- `cache`: results by content and options, and proved patterns
- `fingerprint`: which retune this is
- `patterns`: decided patterns as bytes
- `watch`: who looks on
- `summary`: what became of all files
- `page`: the same, to look at
"""
