# Copies the string at r4 with its end to r6; goes on at `string_last` with the word r5 that has the
# end and r6 four bytes in front of its place, and at `string_head` where r4 is at no word: what
# includes this says where the end was. Changes r0, r4, r5, r7 to r10; see shared/750/length for how a
# zero byte shows.

        andi.   r0,r4,3
        lis     r7,0x7f7f
        lis     r9,-257             # 0xfefefeff
        addi    r6,r6,-4
        ori     r7,r7,0x7f7f
        bne     string_head
string_aligned:
        lwz     r5,0(r4)
        addi    r9,r9,-257
        nor     r0,r5,r7
        add     r10,r5,r9
        and.    r10,r10,r0
        bne     string_last
string_words:
        lwzu    r8,4(r4)
        stwu    r5,4(r6)
        add     r10,r8,r9
        nor     r0,r8,r7
        and.    r10,r10,r0
        mr      r5,r8
        beq     string_words
