"""IA-64 (Itanium): the instruction table and the bundles around it."""
