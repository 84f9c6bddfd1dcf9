//===- WarpMbarriers.td - arriving and waiting apart ------------*- tablegen -*-===//
//
// Part of WarpOps.td, which includes it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTENTILE_WARP_MBARRIERS_TD
#define ATTENTILE_WARP_MBARRIERS_TD

def Warp_MbarriersOp : Warp_Op<"mbarriers", [HasParent<"KernelOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "makes barriers at which threads arrive and wait apart";
  let description = [{
    Each with the number of arrivals that complete a phase. All threads of the
    block wait until they are made. `offset`, where they lie in shared memory, 8
    bytes each, is set by warp-allocate-shared.

    ```mlir
    %there, %read = warp.mbarriers [128, 4] : !warp.mbarrier, !warp.mbarrier
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs Variadic<Warp_MbarrierType>:$result);
  let assemblyFormat = "$arrivals attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Warp_ArriveCopiesOp : Warp_Op<"arrive_copies", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "each thread arrives when its asynchronous copies have";
  let description = [{
    All of the thread's copies so far, whatever their group. It does not wait for
    them.

    ```mlir
    warp.arrive_copies %there
    ```
  }];
  let arguments = (ins Warp_MbarrierType:$mbarrier);
  let assemblyFormat = "$mbarrier attr-dict";
}

def Warp_ArriveOp : Warp_Op<"arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "each warp arrives, once";
  let description = [{
    When all of its threads have come here, what they did in shared memory is
    done for those that wait for the phase.

    ```mlir
    warp.arrive %read
    ```
  }];
  let arguments = (ins Warp_MbarrierType:$mbarrier);
  let assemblyFormat = "$mbarrier attr-dict";
}

def Warp_WaitPhaseOp : Warp_Op<"wait_phase", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for a phase";
  let description = [{
    Until the newest phase of this parity, 0 or 1, is complete: that is the one
    that runs, or the one before it. Before any phase is, the parity 1 waits for
    nothing. What arrived for the phase is visible then.

    ```mlir
    warp.wait_phase %there, %slot
    ```
  }];
  let arguments = (ins Warp_MbarrierType:$mbarrier, Index:$parity);
  let assemblyFormat = "$mbarrier `,` $parity attr-dict";
}

#endif
