"""Symbols out of a kernel's own tables.

The door is `symbols`.

addresses  The other tables of kallsyms: addresses in one of three forms, and the order of the
           names
bounds     Bounds of a kernel's tables, of which kallsyms has no names: it lists functions alone
symbols    Symbols out of a kernel's own table, kallsyms, without section headers or symbol tables
tables     The tables of kallsyms in loaded bytes: each is found by a pattern and confirmed by the
           next
"""
