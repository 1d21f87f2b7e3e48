# at becomes the number of zeros in front of the highest bit that is set in a3.

        ctlz    a3,at               # U
