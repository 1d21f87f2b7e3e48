# r6 becomes the end of r5 bytes at r3; fewer than 8 go to `fill_few`.

        cmpldi  r5,8
        add     r6,r3,r5
        blt     fill_few
