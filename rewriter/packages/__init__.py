"""Packages of distributions: unpacked without trust, packed again with all that they had.

- `retuned`: the door; packages retuned by a policy, and what became of them
- `batch`: `run` takes packages and a folder, and a function that retunes trees
- `debian`: a `.deb` file: its members, the files in it that matter, and the package with others
- `changelog`: an entry more in a package's changelog
- `checked`: a package that was packed, read again before it gets its name
- `resumed`: what the journal of an earlier run says of packages and their files
- `tarball`: tar archives read member by member, hostile ones refused
- `control`: fields and check sums in a package's control archive
"""
