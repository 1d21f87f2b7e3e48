"""Several instructions become one that the CPU has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from passes.combining.chains import Chains, Match
from passes.combining.folded import Folded
from passes.combining.held import Held
from passes.combining.later import Later
from passes.combining.ordered import Ordered
from passes.combining.tested import Tested
from passes.combining.turned import Turned
from passes.combining.vectors import Vectors
from passes.lib.steps import Change, OwnPass, Steps
from passes.lib.technique import Site
from rewriter.core.code.dataflow import Trace
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.idioms import Combining
from rewriter.core.target.protocol import Sequential, Target

_WAYS = 6  # in which one slot may end a chain that are tried


class Combine(OwnPass):
    """What several instructions did on an older chip, one does.

    Before    extsw a,x; sldi r,a,n
              mulld p,a,b; add r,p,c
              divdu q,a,b; mulld p,q,b; subf r,p,a
              lxvd2x v,a,b; xxswapd w,v               (little-endian)
              xxswapd w,v; stxvd2x w,a,b              (little-endian)
              lwz x,d(b); rotlwi r,x,24; rlwimi r,x,8,8,15; rlwimi r,x,8,24,31
              mfocrf f,c; rlwinm r,f,n,31,31
              addi a,b,n; ld r,d(a)
              ldah m,1; lda m,-32768(m); and x,m,t; bne t,label
              cmplt a,b,l; negq l,r; cmplt b,a,g; cmovne g,1,r
    After     extswsli r,x,n
              maddld r,a,b,c
              modud r,a,b                             where the divisor is shown to be none of those
                                                      for which quotient and rest are undefined,
                                                      perhaps by the branches before
              lxvx w,a,b    or lxv w,d(b)
              stxvx v,a,b   or stxv v,d(b)
              addi t,b,d; lwbrx r,0,t   or brw r,x
              setbc r,bit
              ld r,n+d(b)                             of a the load is the only reader
              srl x,15,t; blbs t,label
              cmplt a,b,l; cmplt b,a,g; subq g,l,r
    Requires  The instruction; that what was between is read nowhere else; and that the result is
              not there later by the CPU's model: a sum that only waits for its addend keeps its
              product apart.
    Proof     The block, for every input.  A store keeps its bytes.  lxvd2x and stxvd2x are two
              accesses of a doubleword each, lxvx and stxvx one of a quadword: no half is seen in
              more parts than before (Power ISA 3.1B, Book II, 1.4).
    """

    name = "combine"
    change = Change.IN_PLACE

    def offered(self, target: Target) -> bool:
        """Where later chips have such instructions, or branches see single bits."""
        sequential = target.sequential
        return sequential is not None and bool(sequential.combining or sequential.testing)

    def prepare(self, steps: Steps) -> None:
        """The step that it is."""
        steps.rewrites(self)

    def sites(self, trace: Trace, target: Sequential, cpu: Cpu) -> Iterator[Site]:
        """The chains and exchanges of a block."""
        if target.testing is not None:
            yield from Tested(trace, target.testing).sites()
        if target.conditional_moves is not None:
            yield from Ordered(trace, target.conditional_moves).sites()
        if target.combining is not None:
            yield from self._chained(trace, target, target.combining, cpu)

    def _chained(
        self, trace: Trace, target: Sequential, combining: Combining, cpu: Cpu
    ) -> Iterator[Site]:
        held = Held(trace)
        chains = Chains(trace, held, Later(trace, held, cpu), cpu)
        turned = Turned(trace, held, chains, combining, target.spelling)
        vectors = Vectors(trace, held, combining, cpu)
        folded = Folded(trace, target, held, combining)
        for slot in range(len(trace.insns)):
            yield from folded.site(slot)
            found = (chains.matches(one, slot) for one in combining.chains)
            if matches := list(islice(chain.from_iterable(found), _WAYS)):
                yield from _sites(matches, chains, turned)
            elif exchange := vectors.site(slot):
                yield exchange


def _sites(matches: list[Match], chains: Chains, turned: Turned) -> Iterator[Site]:
    """One site for all that ends at a slot; none where the CPU has nothing for it."""
    accesses = [rewrite for match in matches for rewrite in turned.rewrites(match)]
    own = [chains.site(match) for match in matches if chains.usable(match)]
    rewrites = (*accesses, *(rewrite for site in own for rewrite in site.proposals))
    reason = next((site.reason for site in own if site.reason), "" if own else _NO_ACCESS)
    if any(not rewrite.conditional for rewrite in rewrites):
        reason = ""
    if rewrites or own or matches[0].chain.reversal:
        yield Site(matches[0].slot, matches[0].chain.kind, rewrites, reason)


_NO_ACCESS = "it is not loaded or stored here alone, and the CPU turns no bytes in registers"
