# r8: zero in the lowest three bits where both strings begin at a doubleword.

        or      r8,r3,r4
