        // f10 = f8 / f9 to more than 64 bits: two steps for the reciprocal and the quotient side by
        // side, then what is left over.  Where frcpa clears p6 its result is the quotient.
        frcpa.s1 f10,p6=f8,f9 ;;
  (p6)  fnma.s1 f11=f9,f10,f1           // how far the reciprocal is off
  (p6)  fmpy.s1 f12=f8,f10 ;;
  (p6)  fma.s1  f12=f11,f12,f12
  (p6)  fmpy.s1 f13=f11,f11 ;;
  (p6)  fma.s1  f10=f11,f10,f10 ;;
  (p6)  fma.s1  f12=f13,f12,f12 ;;
  (p6)  fma.s1  f10=f13,f10,f10
  (p6)  fnma.s1 f11=f9,f12,f8 ;;
  (p6)  fma.s1  f10=f11,f10,f12 ;;
