"""Room for new code in a file whose layout stays.

The door is `build`.

build     Puts new code into a file's free room, with all that makes it findable
room      Room for new code in a file whose layout stays: zero bytes behind an executable segment
sections  A segment that grows over free bytes behind it, and section headers over what is new
          there
unwind    Unwind entries for new code, and the search table that leads to old and new ones
"""
