# t6 becomes the number of quadwords behind the first one that hold some of the a2 bytes at a0 (a2
# is not zero).  A count above 2**63 - 1 is more than there can be: it becomes that.

        and     a0,7,t6
        subq    t6,1,t6
        blt     a2,huge             # U
        unop

counted:
        addq    a2,t6,t6
        srl     t6,3,t6             # U
