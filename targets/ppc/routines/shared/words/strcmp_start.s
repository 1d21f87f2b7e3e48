        or      r5,r3,r4
        clrlwi  r5,r5,30
        cmpwi   cr7,r5,0            # whether both strings begin at a word
