# Copies the string at r4 to r6 from its second word on, four bytes of it are copied; r0 is how far
# r4 is behind a word, r9 0xfeff0000.  Goes on with the word r5 that has the end and r6 four bytes in
# front of its place: what includes this says where the end was.  Changes r0, r4 and r7 to r10; see
# shared/750/length for how a zero byte shows.

        subf    r4,r0,r4
        addi    r9,r9,-257          # 0xfefefeff
        lwzu    r5,4(r4)
        srwi    r7,r9,1             # 0x7f7f7f7f
        subf    r6,r0,r6
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        bne     string_last
string_words:
        lwzu    r8,4(r4)
        stwu    r5,4(r6)
        add     r10,r8,r9
        nor     r0,r8,r7
        and.    r10,r10,r0
        bne     string_other
        lwzu    r5,4(r4)
        stwu    r8,4(r6)
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        beq     string_words
        b       string_last
string_other:
        mr      r5,r8
string_last:
