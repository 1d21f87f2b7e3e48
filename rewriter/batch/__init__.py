"""Many files: trees and lists of files retuned by a policy, each output verified before it counts.

- `engine`: the door; `run` takes trees, files and a policy, and gives a `Summary`
- `find`: which files there are, which of them are one file by several names, which are foreign
- `policy`: what is done to which file; a TOML file, its errors with line and key
- `globs`: patterns of paths
- `debug`: debug files, and what they describe
- `task`: one file in one process: bytes in, verified bytes out
- `outcome`: what became of a file
- `cache`: results by content and options, and proved patterns
- `fingerprint`: which retune this is
- `patterns`: decided patterns as bytes
- `summary`: what became of all files
- `page`: the same, to look at
- `files/`: the journal, an output folder, and how a result takes the name of its file
- `pool/`: processes that carry tasks out, here or on a cluster
"""
