"""Where calls come back to, of code that moved: what is made from it, and who may find it.

made          Code behind a call that moved: all that differs may be what is made from the return
              address
over_the_end  What code leaves in a register for a function that control falls into over the end of
              its own
"""
