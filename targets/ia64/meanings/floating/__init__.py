"""What floating-point instructions do to whole registers, exactly.

approximations  Approximations of reciprocals, of whole registers and of singles (SDM vol. 3,
                frcpa, frsqrta, fprcpa, fprsqrta)
arithmetic      Floating-point arithmetic on whole registers: multiply and add, compares,
                conversions (SDM vol. 3, fma to frsqrta)
environment     The status fields of FPSR: what arithmetic obeys, and where it leaves its flags
                (SDM vol. 1, 5.2)
memory          Loads and stores of floating-point registers, and moves from and to general ones
                (SDM vol. 3, ldf, ldfp, stf, setf, getf)
parallel        Floating-point instructions on two single-precision numbers in one register (SDM
                vol. 3, fpma to fpcmp)
real            The 82-bit format of floating-point registers, and what memory has instead (SDM
                vol. 1, 5.1)
rounding        Exact numbers, and one rounding to a precision and an exponent range (SDM vol. 1,
                5.3, 5.4)
significands    Floating-point registers as integers and as bits: merges, logic, integer multiply
                (SDM vol. 3, fmerge, fmix, fselect, fswap, fsxt, xma, fcvt.xf)
whole           Floating-point instructions on whole registers (SDM vol. 3, fma to fsetc)
"""
