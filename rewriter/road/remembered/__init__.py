"""What functions became in an earlier run, for one of the same file or of one that hardly changed.

The door is `results`.

checked   What a kept result may say, beside what the verifier asks
keys      What the result of a function depends on, in one number
packed    Results as bytes: made, and read again without believing them
recalled  One run's use of earlier results: what is recalled, and what is kept
results   Results by their keys, as one file holds them
"""
