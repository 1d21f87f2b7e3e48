"""Commands that run the original and the retuned file.

The doors are the commands; `testing` is for them alone.

bisect    `retune bisect`
boot      `retune difftest boot`: two kernels booted with one initial file system
difftest  `retune difftest`: the original and the retuned file run, and what they do is compared
profile   `retune profile`: which way conditional moves and branches go
testing   What these commands share: how programs are run, and where reports go
"""
