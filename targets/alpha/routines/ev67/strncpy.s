# strncpy: a0 destination, a1 string, a2 count; v0 destination.
#
# See shared/strncpy; bits numbered by CTTZ.

strncpy:
        .include strncpy
