// void *memcpy(void *d, const void *s, size_t n)
//
// memmove: to know that nothing overlaps would save it one compare in a slot that is free.

memcpy:
        .include memmove
