"""The steps of the road over one function, one pass or kind of pass a file, and what follows."""
