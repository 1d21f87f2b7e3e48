"""What Alpha's instructions do, as functions over `Machine`.

Alpha Architecture Handbook v4, chapter 4.

Makers return a meaning for a family of rows; the rows in `integer` and `floating` name them.
"""
