"""ELF files: read and checked, and written as byte patches.

The doors are `image` and `emit`.

compressed   A gzip file around an ELF file, as kernels are kept (vmlinux.gz): opened, and closed
             again
debug_files  Debug information in a file of its own: which file that is, and what it says of lines
debug_identity  What ties a file to its debug file, and another identity for one that no longer fits
dwarf        Numbers of DWARF and its pointer encodings, as unwind tables have them (LSB 5.0 Core,
             10.5)
emit         Writing: byte patches over a file of the same length, and files that are whole or not
             there
gap          The zero bytes between a kernel's text and its read-only data, which one segment loads
headers      ELF headers, read and checked field by field
image        A linked ELF file as retune sees it: headers, symbols, relocations, and an address map
layouts      A file that a tool laid out anew, in the layout of the original that it came from
linking      What links an ELF file: its symbols and relocations
note         A note section that nothing loads: added without moving a section, removed without a
             trace
pins         Addresses in text that data, symbols or the unwinder rely on
probes       Static probes: the places at which debuggers and tracers stop to look at operands
sequences    Restartable sequences: code that the kernel aborts where it was interrupted in its
             middle
sites        Instructions over which a kernel writes, as single words of its data name them
archive/     Files inside files: archives, packages and relocatable objects
bare/        Files without section headers: what their program headers lead to
caves/       Room for new code in a file whose layout stays
lines/       Source lines in debug information, and how they follow code that moves
manifest/    The manifest: what was changed in a file and on what evidence, and the way back
unwind/      Unwind tables: whose code it is, and how a frame looks at each address
"""
