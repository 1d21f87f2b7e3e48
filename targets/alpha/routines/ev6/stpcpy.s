# stpcpy: a0 destination, a1 string; v0 address of the end.  See shared/strcopy.

stpcpy:
        .include strcopy
done:   lda     v0,-1(a0)
        ret                         # L
