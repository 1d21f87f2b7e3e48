# strcat: r3 a string, r4 what comes behind it; r3 the first.
#
# The end of the first as strlen finds it, then shared/power9/string.

strcat: clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltisb v1,0
        mr      r8,r4
        clrrdi  r4,r3,4
        bgt     strcat_edge
        lxv     vs46,0(r3)
        mr      r5,r3
        vcmpequb. v14,v14,v1
        bne     cr6,strcat_end
strcat_on:
        .include scan
strcat_end:
        vctzlsbb r7,v14
        mr      r4,r8
        add     r6,r5,r7
        .include string
        blr
strcat_edge:                        # what is in the first page; zeros behind
        clrldi  r6,r3,60
        subfic  r6,r6,16
        sldi    r7,r6,56
        lxvl    vs46,r3,r7
        mr      r5,r3
        vcmpequb v14,v14,v1
        vctzlsbb r7,v14
        cmpld   r7,r6
        blt     strcat_end
        b       strcat_on
