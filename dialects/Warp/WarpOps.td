//===- WarpOps.td - operations of the warp dialect -------------*- tablegen -*-===//
#ifndef ATTENTILE_WARP_OPS_TD
#define ATTENTILE_WARP_OPS_TD

include "WarpDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Warp_Op<string mnemonic, list<Trait> traits = []> : Op<Warp_Dialect, mnemonic, traits>;

def Warp_Scalar : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, Index, AnySignlessInteger]>;
def Warp_Fragment : FixedVectorOfRankAndType<[1], [F32, F16, BF16, F8E4M3FN, F8E5M2, Index,
    AnySignlessInteger]>;
def Warp_ScalarOrFragment : AnyTypeOf<[Warp_Scalar, Warp_Fragment]>;

//===----------------------------------------------------------------------===//
// Kernels and who runs
//===----------------------------------------------------------------------===//

def Warp_KernelOp : Warp_Op<"kernel", [NoTerminator, SingleBlock,
    HasParent<"::attentile::tile::ProgramOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one grid of thread blocks";
  let description = [{
    The body runs once for every point of the grid, by a block of `warps` warps
    of 32 threads. The region's arguments are the block's coordinates, the last
    varying fastest, each in [0, 2^31). Bounds are values of the enclosing
    program; tensors, sizes and scalars are the program's arguments, and other
    values of the program may be used where they come from sizes and scalars.
    `shared_bytes` is what its buffers take, once they have offsets. `otherwise`
    names the kernel that is launched instead, with a grid of its own, where a
    tensor's strides or alignment are not what this one asks for.

    ```mlir
    warp.kernel @causal_0 grid(%b < %B, %h < %H, %i < %blocks) warps(4) {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$ids, Variadic<Index>:$bounds, I64Attr:$warps,
    OptionalAttr<I64Attr>:$shared_bytes, OptionalAttr<StrAttr>:$otherwise);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class Warp_IdOp<string mnemonic, string what> : Warp_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = what;
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Warp_ThreadIdOp : Warp_IdOp<"thread_id", "the thread's number in its block"> {
  let description = [{
    From 0 to 32 * warps - 1.

    ```mlir
    %t = warp.thread_id : index
    ```
  }];
}

def Warp_LaneIdOp : Warp_IdOp<"lane_id", "the thread's number in its warp"> {
  let description = [{
    From 0 to 31.

    ```mlir
    %lane = warp.lane_id : index
    ```
  }];
}

def Warp_WarpIdOp : Warp_IdOp<"warp_id", "the warp's number in its block"> {
  let description = [{
    From 0 to warps - 1, and known to be the same in all threads of the warp.

    ```mlir
    %w = warp.warp_id : index
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def Warp_AllocOp : Warp_Op<"alloc", [HasParent<"KernelOp">]> {
  let summary = "a buffer in shared memory";
  let description = [{
    Stands at the kernel's top. `offset` is its first byte in the block's shared
    memory, a multiple of 128; buffers whose lives do not overlap may share.

    ```mlir
    %k = warp.alloc : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>, stages = 2>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Warp_BufferType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Warp_StageOp : Warp_Op<"stage", [Pure, TypesMatchWith<"result is one stage", "buffer", "result",
    "::llvm::cast<::attentile::warp::BufferType>($_self).withoutStages()">]> {
  let summary = "one stage of a buffer";
  let description = [{
    The index is uniform, from 0 to stages - 1.

    ```mlir
    %k1 = warp.stage %k[%i] : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>, stages = 2>
    ```
  }];
  let arguments = (ins Warp_BufferType:$buffer, Index:$index);
  let results = (outs Warp_BufferType:$result);
  let assemblyFormat = "$buffer `[` $index `]` attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Warp_LoadSharedOp : Warp_Op<"load_shared"> {
  let summary = "one thread's elements of a buffer";
  let description = [{
    Each thread has its own indices, one a dimension, inside the buffer. A
    vector of N elements is N consecutive ones of the last dimension, whose
    index is a multiple of N; N is a power of two and the vector at most 16
    bytes.

    ```mlir
    %x = warp.load_shared %k[%row, %col] : !warp.buffer<64x64xf32, #tile.shared<pitch 64, chunk 8, period 8>> -> vector<2xf32>
    ```
  }];
  let arguments = (ins Arg<Warp_BufferType, "", [MemRead]>:$buffer, Variadic<Index>:$indices);
  let results = (outs Warp_ScalarOrFragment:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` qualified(type($buffer)) `->` type($result)";
  let hasVerifier = 1;
}

def Warp_StoreSharedOp : Warp_Op<"store_shared", [AttrSizedOperandSegments]> {
  let summary = "writes one thread's elements into a buffer";
  let description = [{
    As `warp.load_shared`. With `if`, only threads whose predicate is true
    write.

    ```mlir
    warp.store_shared %x, %k[%row, %col] : vector<2xf32>, !warp.buffer<64x64xf32, #tile.shared<pitch 64, chunk 8, period 8>>
    warp.store_shared %s, %part[%w] if %first : f32, !warp.buffer<4xf32, #tile.shared<pitch = 4, chunk = 4>>
    ```
  }];
  let arguments = (ins Warp_ScalarOrFragment:$value, Arg<Warp_BufferType, "", [MemWrite]>:$buffer,
    Variadic<Index>:$indices, Optional<I1>:$predicate);
  let assemblyFormat = [{
    $value `,` $buffer `[` $indices `]` (`if` $predicate^)? attr-dict `:` type($value) `,` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous copies and barriers
//===----------------------------------------------------------------------===//

def Warp_CopyAsyncOp : Warp_Op<"copy_async"> {
  let summary = "the block copies a window of a tensor into a buffer";
  let description = [{
    All threads of the block together copy. The indices, one a dimension of the
    tensor and uniform, are the window's first element; the window extends over
    the tensor's dimensions `dims`, which are, in this order, the dimensions of
    the buffer. Elements outside the tensor are written as 0.

    16 bytes go at a time and asynchronously: they have arrived after a
    `warp.wait_group` that covers the group of this copy, for other threads
    after a `warp.barrier` behind it. For that the tensor is contiguous along
    the last of `dims` and the index there, the base address and all other
    strides are multiples of 16 bytes; the launch checks what is not known.
    `by_element`: the same by plain loads and stores, whatever the strides; the
    elements have arrived, for other threads, after a barrier.

    `in_bounds`, one for each dimension of the tensor: every index of the window
    there is known to be inside. `own_rows`: each warp copies its share of the
    rows, the first warp the first ones; for the warp's other threads they have
    arrived after a `warp.sync` behind the wait.

    ```mlir
    warp.copy_async %K[%b, %h, %n, %c0] dims [2, 3] to %k {in_bounds = array<i1: false, false, false, true>}
      : tensor<?x?x?x128xbf16>, !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>>
    ```
  }];
  let arguments = (ins Arg<AnyRankedTensor, "", [MemRead]>:$tensor, Variadic<Index>:$indices,
    DenseI64ArrayAttr:$dims, Arg<Warp_BufferType, "", [MemWrite]>:$buffer,
    OptionalAttr<DenseBoolArrayAttr>:$in_bounds, UnitAttr:$by_element, UnitAttr:$own_rows);
  let assemblyFormat = [{
    $tensor `[` $indices `]` `dims` $dims `to` $buffer attr-dict `:` type($tensor) `,` qualified(type($buffer))
  }];
  let extraClassDeclaration = [{
    /// Whether each of this many warps can copy its own rows: rows alike for
    /// all, of chunks that divide a warp's lanes.
    bool canOwnRows(int64_t warps);
  }];
  let hasVerifier = 1;
}

def Warp_CommitGroupOp : Warp_Op<"commit_group", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "closes a group of asynchronous copies";
  let description = [{
    The copies since the last commit, perhaps none, are one group.

    ```mlir
    warp.commit_group
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_WaitGroupOp : Warp_Op<"wait_group", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for groups of asynchronous copies";
  let description = [{
    Until at most the newest `pending` groups have not arrived: the thread's own
    part of them. A barrier behind it makes the others' parts visible.

    ```mlir
    warp.wait_group 1
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Warp_BarrierOp : Warp_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the block";
  let description = [{
    What they wrote into shared memory before is visible after it.

    ```mlir
    warp.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_SyncOp : Warp_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for all threads of the warp";
  let description = [{
    What they wrote into shared memory before is visible to the warp after it.

    ```mlir
    warp.sync
    ```
  }];
  let assemblyFormat = "attr-dict";
}

include "WarpMbarriers.td"

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

def Warp_LdmatrixOp : Warp_Op<"ldmatrix"> {
  let summary = "the warp reads 8x8 matrices in fragment form";
  let description = [{
    Reads `num` (1, 2 or 4) matrices of 8 rows of 16 bytes: 8x8 elements of 16
    bits, or 8x4 of 32. The first starts at [row, col], which is uniform in the
    warp: row a multiple of 8 and col of the matrices' width (of both widths,
    where matrices lie side by side). `order` says where the others lie:
    `rows` (the default) below, then to the right; `columns` to the right, then
    below.

    Of each matrix a thread with lane l gets row l / 4 and there the 4 bytes
    l mod 4: two elements of 16 bits, one of 32. `transpose`, for 16 bits only:
    of column l / 4 the rows 2 (l mod 4) and the next. Registers are in the
    order of the matrices.

    So for `mma` m16n8k16: A from [m, k] is num 4 by rows, A from [k, m]
    num 4 by columns, transposed; B of two blocks of 8 columns from [n, k] is
    num 4 by columns, from [k, n] num 4 by rows, transposed.

    ```mlir
    %v = warp.ldmatrix %b[%row, %col] num 4 order rows transpose
      : !warp.buffer<64x128xbf16, #tile.shared<pitch = 128, chunk = 8, period = 8>> -> vector<8xbf16>
    ```
  }];
  let arguments = (ins Arg<Warp_BufferType, "", [MemRead]>:$buffer, Index:$row, Index:$col, I64Attr:$num,
    DefaultValuedAttr<Warp_MatrixOrderAttr, "::attentile::warp::MatrixOrder::Rows">:$order,
    UnitAttr:$transpose);
  let results = (outs Warp_Fragment:$result);
  let assemblyFormat = [{
    $buffer `[` $row `,` $col `]` `num` $num (`order` $order^)? (`transpose` $transpose^)? attr-dict
    `:` qualified(type($buffer)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_MmaOp : Warp_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "one matrix instruction: a * b + c";
  let description = [{
    m16n8k16 for bf16 and f16 (a: 8 elements a thread, b: 4), m16n8k8 for f32
    (a: 4, b: 2), of which the first 19 bits enter: operands come from
    `warp.split_tf32`. The sum, 4 elements a thread, is in f32.

    With g = lane / 4 and t = lane mod 4 a thread holds, in this order,
      c: [g, 2t] [g, 2t+1] [g+8, 2t] [g+8, 2t+1]
      a of 16 bits: [g, 2t] [g, 2t+1], the same of row g+8, then both of k + 8
      b of 16 bits: k 2t, 2t+1, 2t+8, 2t+9 of column g
      a of f32: [g, t] [g+8, t] [g, t+4] [g+8, t+4]; b: k t, t+4 of column g
    The order of k is the caller's choice, the same in a and b.

    ```mlir
    %d = warp.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16> -> vector<4xf32>
    ```
  }];
  let arguments = (ins Warp_Fragment:$a, Warp_Fragment:$b, Warp_Fragment:$c);
  let results = (outs Warp_Fragment:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def Warp_SplitTf32Op : Warp_Op<"split_tf32", [Pure, SameOperandsAndResultType]> {
  let summary = "a value as a sum of two that tf32 holds";
  let description = [{
    `high` is the operand rounded to tf32, `low` the rounded rest. With three
    products, high * high + high * low + low * high, a product of f32 keeps 21
    bits. Of an infinity `low` is 0.

    ```mlir
    %high, %low = warp.split_tf32 %x : vector<4xf32>
    ```
  }];
  let arguments = (ins Warp_ScalarOrFragment:$operand);
  let results = (outs Warp_ScalarOrFragment:$high, Warp_ScalarOrFragment:$low);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Exchange within a warp
//===----------------------------------------------------------------------===//

def Warp_ShuffleXorOp : Warp_Op<"shuffle_xor", [Pure, SameOperandsAndResultType]> {
  let summary = "the value of the lane whose number differs by a mask";
  let description = [{
    The lane's own number xor `mask`, 1 to 31; for a fragment register by
    register.

    ```mlir
    %other = warp.shuffle_xor %x, 1 : vector<2xf32>
    ```
  }];
  let arguments = (ins Warp_ScalarOrFragment:$operand, I64Attr:$mask);
  let results = (outs Warp_ScalarOrFragment:$result);
  let assemblyFormat = "$operand `,` $mask attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Warp_ShuffleFromOp : Warp_Op<"shuffle_from", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "the value of any lane";
  let description = [{
    That of the warp's lane `lane`, from 0 to 31, which each lane chooses for
    itself. One register of 32 bits, or of 16.

    ```mlir
    %other = warp.shuffle_from %x, %lane : f32
    ```
  }];
  let arguments = (ins Warp_Scalar:$operand, Index:$lane);
  let results = (outs Warp_Scalar:$result);
  let assemblyFormat = "$operand `,` $lane attr-dict `:` type($operand)";
}

def Warp_HiddenOp : Warp_Op<"hidden", [MemoryEffects<[MemWrite]>]> {
  let summary = "a warp for which an iteration changes nothing";
  let description = [{
    As `tile.hidden`; the condition is the same in all lanes.

    ```mlir
    warp.hidden %later
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Warp_EitherOp : Warp_Op<"either", [MemoryEffects<[MemWrite]>]> {
  let summary = "a warp takes one of two ways through an iteration";
  let description = [{
    As `tile.either`; the condition is the same in all lanes.

    ```mlir
    warp.either %fits
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

class Warp_VoteOp<string mnemonic, string what> : Warp_Op<mnemonic, [Pure]> {
  let summary = what;
  let arguments = (ins I1:$predicate);
  let results = (outs I1:$result);
  let assemblyFormat = "$predicate attr-dict";
}

def Warp_VoteAllOp : Warp_VoteOp<"vote_all", "whether a predicate holds in all threads of the warp"> {
  let description = [{
    The result is the same in all threads of the warp.

    ```mlir
    %all = warp.vote_all %p
    ```
  }];
}

def Warp_VoteAnyOp : Warp_VoteOp<"vote_any", "whether a predicate holds in some thread of the warp"> {
  let description = [{
    The result is the same in all threads of the warp.

    ```mlir
    %any = warp.vote_any %p
    ```
  }];
}

def Warp_BallotOp : Warp_Op<"ballot", [Pure]> {
  let summary = "in which threads of the warp a predicate holds";
  let description = [{
    A bit for each lane, the lowest for lane 0. The result is the same in all
    threads of the warp.

    ```mlir
    %lanes = warp.ballot %p : i32
    ```
  }];
  let arguments = (ins I1:$predicate);
  let results = (outs I32:$result);
  let assemblyFormat = "$predicate attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Global memory, by thread
//===----------------------------------------------------------------------===//

def Warp_LoadOp : Warp_Op<"load", [Pure]> {
  let summary = "one thread's elements of a tensor";
  let description = [{
    Each thread has its own indices, one a dimension of the tensor. An element
    with an index outside its dimension is 0. `in_bounds`, one for each
    dimension: known to be inside. What a kernel reads does not change while it
    runs, so a load may be repeated, merged or moved.

    A vector of N elements is N consecutive ones of dimension `dim` (the last,
    if not given), along which the tensor is then contiguous, and the index
    there, base and other strides are multiples of N elements: the launch checks
    what is not known. `by_element`: one load an element, whatever the strides.

    ```mlir
    %x = warp.load %T[%b, %h, %m, %e] : tensor<?x?x?x64xbf16> -> vector<2xbf16>
    %y = warp.load %T[%b, %h, %e, %m] dim 2 {by_element} : tensor<?x?x64x?xbf16> -> vector<2xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Index>:$indices, OptionalAttr<I64Attr>:$dim,
    OptionalAttr<DenseBoolArrayAttr>:$in_bounds, UnitAttr:$by_element);
  let results = (outs Warp_ScalarOrFragment:$result);
  let assemblyFormat = [{
    $tensor `[` $indices `]` (`dim` $dim^)? attr-dict `:` type($tensor) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Warp_StoreOp : Warp_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "writes one thread's elements into a tensor";
  let description = [{
    As `warp.load`; elements with an index outside are not written, and with
    `if` only threads whose predicate is true write.

    ```mlir
    warp.store %x, %O[%b, %h, %m, %e] : vector<2xbf16>, tensor<?x?x?x64xbf16>
    warp.store %y, %L[%b, %h, %m] if %first : f32, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins Warp_ScalarOrFragment:$value, AnyRankedTensor:$tensor, Variadic<Index>:$indices,
    Optional<I1>:$predicate, OptionalAttr<I64Attr>:$dim, OptionalAttr<DenseBoolArrayAttr>:$in_bounds,
    UnitAttr:$by_element);
  let assemblyFormat = [{
    $value `,` $tensor `[` $indices `]` (`dim` $dim^)? (`if` $predicate^)? attr-dict
    `:` type($value) `,` type($tensor)
  }];
  let hasVerifier = 1;
}

#endif
