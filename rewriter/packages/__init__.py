"""Packages of distributions: unpacked without trust, packed again with all that they had.

- `retuned`: the door; packages retuned by a policy, and what became of them
- `batch`: `run` takes packages and a folder, and a function that retunes trees
- `debian`: a `.deb` file: its members, the files in it that matter, and the package with others
- `tarball`: tar archives read member by member, hostile ones refused
- `control`: fields and check sums in a package's control archive
"""
