"""Files whose symbols say what a routine is: the C library, and kernels.

Any program may have a `strlen` of its own that does more, or less, than the C library's: a name
says what a routine promises only where the file is what everybody calls for it.  That is the C
library, as it names itself to the loader, with the loader that is built from the same sources and
has copies of the library's routines; and a kernel, which is linked where no program can be.  libm
and libgcc are not: what they have of these routines is there by the linker's choice, as in any
program.
"""

from __future__ import annotations

import re

from rewriter.elf.headers import Layout
from rewriter.elf.image import Image
from rewriter.elf.linking import tags_of

_C_LIBRARY = re.compile(
    r"libc\.so(\.\d+)*"  # glibc (libc.so.6, on Alpha and IA-64 libc.so.6.1), uClibc, musl
    r"|ld-linux(-\w+)*\.so\.\d+"  # glibc's loader
    r"|ld(64)?\.so\.[12]"  # glibc's loader on PowerPC
)
_DT_STRTAB, _DT_SONAME = 5, 14
_LONGEST = 256  # bytes of a name


def trusts_names(image: Image) -> bool:
    """Whether a symbol of the file says what its routine does."""
    return is_kernel(image) or _C_LIBRARY.fullmatch(soname(image)) is not None


def is_kernel(image: Image) -> bool:
    """Whether all text stands in the upper half of the addresses, where no program's can."""
    ranges = image.executable_ranges()
    return bool(ranges) and all(start >> image.bits - 1 for start, _ in ranges)


def soname(image: Image) -> str:
    """What a library calls itself to the loader (DT_SONAME); nothing where it does not."""
    tags = _tags(image)
    if _DT_SONAME not in tags or _DT_STRTAB not in tags:
        return ""
    at = tags[_DT_STRTAB] + tags[_DT_SONAME]
    segment = image.segment_of(at)
    if segment is None:
        return ""
    size = min(_LONGEST, segment.p_vaddr + segment.p_memsz - at)
    return image.read(at, size).partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _tags(image: Image) -> dict[int, int]:
    """The dynamic section, where it is loaded."""
    loaded = (segment for segment in image.segments if image.is_mapped(segment.p_vaddr))
    return tags_of(image.data, loaded, Layout(image.bits, image.byteorder))
