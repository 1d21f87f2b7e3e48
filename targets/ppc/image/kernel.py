"""Whether a file is a kernel.

Source: Linux 6.1 arch/powerpc/include/asm/page.h (PAGE_OFFSET), Kconfig.
"""

from __future__ import annotations

from rewriter.core.target.protocol import Memory

_BASE = {32: 0xC0000000, 64: 0xC000000000000000}
"""Where a kernel's own addresses begin: a program cannot have text there."""


def is_kernel(image: Memory, bits: int) -> bool:
    """Whether the text stands where only a kernel's may."""
    return any(start >= _BASE[bits] for start, _ in image.executable_ranges())
