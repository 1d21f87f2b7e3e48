# t3 becomes the number of the lowest bit that is set in t2, one of 8.

        cttz    t2,t3               # U
