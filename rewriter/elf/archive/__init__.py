"""Files inside files: archives, packages and relocatable objects.

The door is `members`.

members  Files inside files: members of `ar` archives, and what Debian packages install
text     Code with the names that stand in it, from linked files and from relocatable objects alike
"""
