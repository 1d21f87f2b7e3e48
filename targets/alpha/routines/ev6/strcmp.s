# strcmp: a0, a1 strings; v0 less than, equal to or greater than zero.
#
# Equally aligned strings take two fetch blocks for a quadword, which is left at a difference or at
# an end.  Otherwise the bytes that the first quadwords of both have in common bring one of the
# strings to a quadword; it becomes a0 (t9 remembers an exchange).  The other is made of two
# quadwords, of which the second is loaded only when the string does not end in the first: nothing
# is read behind the page that holds the end.  The first byte that matters is isolated as a bit and
# ZAPNOT keeps it of both.

        .include strcmp
