"""What Alpha's instructions do, as functions over `Machine`.

Alpha Architecture Handbook v4, chapter 4.

Makers return a meaning for a family of rows; the rows in `integer` and `floating` name them.

bytewise    Bytes of a register: extracted, inserted, masked, compared
control     Transfers of control, barriers, and other events
memory      Loads, stores, and the addresses of them
multimedia  Lanes of a register (MVI): minima and maxima, errors of pixels, packing
operate     Operations on registers: arithmetic, comparisons, tests, conditional moves
"""
