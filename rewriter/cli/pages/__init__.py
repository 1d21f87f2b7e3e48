"""What the command says of itself: its versions, its manual pages, and completion in a shell.

`versions` prints the versions, `manual` a page as `roff` writes it, `completion` a shell's script
and what the shells complete; `tree` has the pages of all commands, and `installed` writes all of
it as it is installed below share/, which the build backend asks for.
"""
