"""PowerPC: 32 and 64 bits, either byte order."""
