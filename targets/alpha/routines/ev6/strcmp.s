# strcmp: a0, a1 strings; v0 less than, equal to or greater than zero.
#
# Eight bytes one by one.  Then equally aligned strings take two fetch blocks for a quadword, which is
# left at a difference or at an end.  Otherwise the first string goes on at its next quadword, in
# front of which everything is equal, and what is beside it in the second is made of two quadwords,
# of which the second is loaded only when the string does not end in the first: nothing is read
# behind the page that holds the end.  The first byte that matters is isolated as a bit and ZAPNOT
# keeps it of both.

        .include strcmp
