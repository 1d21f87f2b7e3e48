// void *memset(void *d, int c, size_t n)
//
// Whole words, two a cycle, from both ends towards the middle.  Then the bytes in front of the first
// and behind the last of them: stores of 1, 2 and 4 bytes, each where it is aligned and covers what
// the one before has left; where there is nothing to cover they store again what is there.  MANY
// bytes begin with passes of 64 that leave one to eight words over; a pass of zeros is four stores
// of the register f0.  Passes leave in two places, so that each branch has a short history.

        MANY = 87                       // bytes: a word, and 72 from the next multiple of 16 on
        end = r15
        from = r17                      // what is not done yet: its first word,
        until = r20                     // and its last
        third = r19                     // word of what is not done yet
        ahead = r2                      // 16 bytes behind from
        beyond = r19                    // 32
        enough = r21                    // where that may be for one more pass
        from2 = r23                     // stores of 2 bytes
        until2 = r24
        from4 = in0                     // of 1, then of 4 bytes
        until4 = r18

memset:
        add     end=in0,in2
        adds    from=7,in0
        cmp.gtu p6,p0=8,in2
        or      r22=in0,in2
        mux1    r16=in1,@brcst
  (p6)  br.cond.dpnt bytes ;;
        and     from=-8,from
        adds    until=-8,end
        and     r22=7,r22               // zero: all of it is words
        adds    from2=1,in0
        cmp.ltu p7,p0=MANY-1,in2
  (p7)  br.cond.dpnt many ;;
        cmp.ltu p0,p7=until,from        // there is a word
        and     until=-8,until
        adds    third=16,from
        adds    until4=-1,end
        adds    until2=-2,end ;;

        .align  32
words:
        cmp.ltu p0,p6=until,third
  (p7)  st8     [from]=r16,8
        adds    third=8,third
  (p7)  st8     [until]=r16,-8
        cmp.eq  p8,p0=r0,r22
  (p6)  br.cond.dptk words ;;
        mov     r8=in0
        st1     [from4]=r16,3
        and     from2=-2,from2
        and     until2=-2,until2
        st1     [until4]=r16,-3
  (p8)  br.ret.dptk.many rp ;;
        st2     [from2]=r16
        st2     [until2]=r16
        and     from4=-4,from4
        and     until4=-4,until4 ;;
        st4     [from4]=r16
        st4     [until4]=r16
        br.ret.sptk.many rp ;;

        // Fewer than 8: from both ends.
        .align  32
bytes:
        adds    r2=-1,end
        cmp.eq  p6,p0=r0,in2
        mov     r8=in0
  (p6)  br.ret.spnt.many rp ;;
        .align  32
byte:
        st1     [in0]=in1,1
        st1     [r2]=in1,-1
        cmp.ltu p7,p0=2,in2
        adds    in2=-2,in2
  (p7)  br.cond.dptk byte
        br.ret.sptk.many rp ;;

        .align  32
many:
        adds    r14=8,from
        adds    ahead=24,from
        adds    beyond=40,from
        and     until=-8,until
        adds    enough=-104,end
        adds    until2=-2,end ;;
        st8     [from]=r16
        and     from=-16,r14
        and     ahead=-16,ahead
        and     beyond=-16,beyond
        cmp.eq  p6,p0=r0,r16
  (p6)  br.cond.dptk zeros ;;
pass:
        st8     [from]=r16,8
        st8     [ahead]=r16,8
        cmp.ltu p6,p0=enough,beyond ;;
        st8     [from]=r16,56
        st8     [ahead]=r16,24 ;;
        st8     [beyond]=r16,8
        st8     [ahead]=r16,8 ;;
        st8     [beyond]=r16,56
        st8     [ahead]=r16,24
  (p6)  br.cond.dpnt left ;;
        st8     [from]=r16,8
        st8     [ahead]=r16,8
        cmp.ltu p0,p6=enough,beyond ;;
        st8     [from]=r16,56
        st8     [ahead]=r16,24 ;;
        st8     [beyond]=r16,8
        st8     [ahead]=r16,8 ;;
        st8     [beyond]=r16,56
        st8     [ahead]=r16,24
  (p6)  br.cond.dptk pass ;;
left:
        adds    third=16,from
        adds    until4=-1,end
        br.cond.sptk words ;;

zeros:
        stf.spill [from]=f0,64
        stf.spill [ahead]=f0,32
        cmp.ltu p6,p0=enough,beyond ;;
        stf.spill [beyond]=f0,64
        stf.spill [ahead]=f0,32
  (p6)  br.cond.dpnt left ;;
        stf.spill [from]=f0,64
        stf.spill [ahead]=f0,32
        cmp.ltu p0,p6=enough,beyond ;;
        stf.spill [beyond]=f0,64
        stf.spill [ahead]=f0,32
  (p6)  br.cond.dptk zeros ;;
        br.cond.sptk left ;;
