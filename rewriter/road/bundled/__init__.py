"""The road of code that says what issues together.

The door is `road`.

boundaries  Which heads of loops should stand on a boundary of what is fetched in a cycle
function    What a function's regions become: new code in numbers, and where each stands
hints       Loops of bundled code that walk over memory: hints in the order that the scheduler
            finds
placement   Which routine stands in which place, when the places of the replaced ones are all the
            room
regions     Straight regions of bundled code get a new order; what stands behind a shorter one
            moves up
road        The road of code that says what issues together: functions, regions, new orders, new
            places
routines    Known routines of bundled code become tuned ones, in the places that they have together
"""
