// RUN: attentile-opt %s --warp-pipeline-copies --canonicalize --split-input-file | FileCheck %s
// RUN: attentile-opt %s --warp-pipeline-copies=stages=2 --canonicalize --split-input-file | FileCheck %s --check-prefix=STAGES

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// K of the next tile is requested once all have read K of this one, V of this
// tile at its start, where all have read V of the one before. The first copy
// goes out with Q's, whose wait lets it pass.
// CHECK-LABEL: warp.kernel @two_0
// CHECK-DAG: %[[Q:.*]] = warp.alloc
// CHECK-DAG: %[[K:.*]] = warp.alloc
// CHECK-DAG: %[[V:.*]] = warp.alloc
// CHECK: warp.copy_async %Q[%c0, %c0] dims [0, 1] to %[[BUFFERQ:.*]] :
// CHECK-NEXT: warp.commit_group
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %N, %c0
// CHECK: scf.if %[[SOME]]
// CHECK-NEXT: warp.copy_async %K[%c0, %c0] dims [0, 1] to %[[BUFFERK:.*]] :
// CHECK: warp.commit_group
// CHECK-NEXT: warp.wait_group 1
// CHECK-NEXT: warp.barrier
// CHECK: scf.for %[[N:.*]] = %c0 to %N
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK-NEXT: warp.copy_async %V[%[[N]], %c0] dims [0, 1] to %[[BUFFERV:.*]] :
// CHECK-NEXT: warp.commit_group
// CHECK: warp.ldmatrix %[[BUFFERK]]
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %c16
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %N
// CHECK: scf.if %[[MORE]]
// CHECK-NEXT: warp.copy_async %K[%[[NEXT]], %c0] dims [0, 1] to %[[BUFFERK]] :
// CHECK: warp.commit_group
// CHECK: warp.ldmatrix %[[BUFFERV]]
// CHECK-NOT: warp.barrier

// One barrier an iteration, both copies in one group, one iteration ahead.
// STAGES-LABEL: warp.kernel @two_0
// STAGES: warp.alloc : {{.*}}, stages = 2>
// STAGES: scf.for
// STAGES: warp.wait_group 0
// STAGES-NEXT: warp.barrier
// STAGES-NOT: warp.barrier
// STAGES: scf.if
// STAGES: warp.copy_async %K
// STAGES-NOT: warp.commit_group
// STAGES: warp.copy_async %V
// STAGES: warp.commit_group
// STAGES-NOT: warp.barrier
// STAGES: scf.yield
tile.program @two sizes(%N) ins(%Q: bf16[16, 16], %K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @two_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    warp.copy_async %Q[%c0, %c0] dims [0, 1] to %q : tensor<16x16xbf16>, !buffer
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %a = warp.ldmatrix %q[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      warp.barrier
      warp.copy_async %V[%n, %c0] dims [0, 1] to %v : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %c = warp.ldmatrix %v[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %ab = arith.mulf %a, %b : vector<8xbf16>
      %bc = arith.mulf %ab, %c : vector<8xbf16>
      %sum = arith.addf %acc, %bc : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %s = vector.reduction <add>, %r : vector<8xbf16> into bf16
    %x = arith.extf %s : bf16 to f32
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Two loops over one tensor share a buffer, and the first one's last iteration
// requests the second one's first copy. A loop with one copy needs a barrier
// behind its reads.
// CHECK-LABEL: warp.kernel @chain_0
// CHECK: %[[BUFFER:.*]] = warp.alloc
// CHECK-NEXT: warp.alloc
// CHECK-NOT: warp.alloc
// CHECK: %[[START:.*]] = arith.select %{{.*}}, %c0, %[[MIDDLE:.*]] : index
// CHECK: warp.copy_async %K[%[[START]], %c0] dims [0, 1] to %[[BUFFER]] :
// CHECK: scf.for %[[N:.*]] = %c0 to %[[MIDDLE]]
// CHECK: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: warp.ldmatrix
// CHECK-NEXT: warp.barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %c16
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[NEXT]], %[[MIDDLE]]
// CHECK: arith.select %[[IN]], %[[NEXT]], %[[MIDDLE]]
// CHECK: warp.copy_async %K
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %N
// CHECK-NEXT: warp.wait_group 0

// A copy whose address the loop computes stays where it is.
// CHECK: scf.for {{.*}} iter_args(%[[AT:[a-z0-9]+]] =
// CHECK-NEXT: warp.barrier
// CHECK-NEXT: warp.copy_async %K[%[[AT]], %c0]
// CHECK-NEXT: warp.commit_group
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
tile.program @chain sizes(%N) ins(%K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @chain_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %k = warp.alloc : !buffer
    %l = warp.alloc : !buffer
    %j = warp.alloc : !buffer
    %half = arith.divui %N, %c16 : index
    %middle = arith.muli %half, %c16 : index
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %r = scf.for %n = %c0 to %middle step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %sum = arith.addf %acc, %b : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %t = scf.for %n = %middle to %N step %c16 iter_args(%acc = %r) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %l : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %l[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %sum = arith.mulf %acc, %b : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %u:2 = scf.for %n = %c0 to %N step %c16 iter_args(%at = %c0, %acc = %t) -> (index, vector<8xbf16>) {
      warp.barrier
      warp.copy_async %K[%at, %c0] dims [0, 1] to %j : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %j[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %sum = arith.mulf %acc, %b : vector<8xbf16>
      %next = arith.addi %at, %n : index
      scf.yield %next, %sum : index, vector<8xbf16>
    }
    %s = vector.reduction <add>, %u#1 : vector<8xbf16> into bf16
    %x = arith.extf %s : bf16 to f32
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Over a list, the number of the next iteration's block is read before anything
// else of this one, and handed on: no copy waits for it.
// CHECK-LABEL: tile.program @listed
// CHECK: %[[LIST:.*]] = attn.workspace
// CHECK: warp.commit_group
// CHECK-NEXT: %[[FIRST:.*]] = warp.load %[[LIST]][%c1] : tensor<?xi32> -> i32
// CHECK-NEXT: scf.for %[[K:.*]] = %c1 to %N step %c1 iter_args(%{{.*}} = %{{.*}}, %[[ENTRY:.*]] = %[[FIRST]])
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[K]], %c1
// CHECK-NEXT: %[[AHEAD:.*]] = warp.load %[[LIST]][%[[NEXT]]] : tensor<?xi32> -> i32
// CHECK-NOT: warp.load
// CHECK: %[[BLOCK:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: %[[N0:.*]] = arith.muli %[[BLOCK]], %c16
// CHECK: warp.copy_async %V[%[[N0]], %c0]
// CHECK-NOT: warp.load
// CHECK: scf.if
// CHECK: %[[LATER:.*]] = arith.index_cast %[[AHEAD]]
// CHECK: %[[N1:.*]] = arith.muli %[[LATER]], %c16
// CHECK: warp.copy_async %K[%[[N1]], %c0]
// CHECK-NOT: warp.load
// CHECK: scf.yield %{{.*}}, %[[AHEAD]]
// CHECK: tile.from_list
tile.program @listed sizes(%N) ins(%K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[16]) {
  %list = attn.workspace "blocks" shape affine_map<()[s0] -> (s0)> : tensor<?xi32>
  warp.kernel @listed_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %k = warp.alloc : !buffer
    %v = warp.alloc : !buffer
    %r = scf.for %i = %c1 to %N step %c1 iter_args(%a = %zero) -> (vector<8xbf16>) {
      %entry = warp.load %list[%i] : tensor<?xi32> -> i32
      %block = arith.index_cast %entry : i32 to index
      %n = arith.muli %block, %c16 : index
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %x = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      warp.barrier
      warp.copy_async %V[%n, %c0] dims [0, 1] to %v : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %y = warp.ldmatrix %v[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %b = arith.addf %a, %x : vector<8xbf16>
      %c = arith.addf %b, %y : vector<8xbf16>
      scf.yield %c : vector<8xbf16>
    } {tile.axis = "n", tile.from_list}
    %f = vector.extract %r[0] : bf16 from vector<8xbf16>
    %o = arith.extf %f : bf16 to f32
    warp.store %o, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Q is read in the loop alone: its first wait is Q's too. Behind the loop, which may not turn, stands one for whoever has the
// buffers next. With two buffers the loop carries which one is read.
// CHECK-LABEL: warp.kernel @inside_0
// CHECK: warp.copy_async %Q
// CHECK-NOT: warp.wait_group
// CHECK: scf.for
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: }
// CHECK: warp.wait_group 0
// STAGES-LABEL: warp.kernel @inside_0
// STAGES: %[[TWO:.*]] = warp.alloc : {{.*}}, stages = 2>
// STAGES: warp.copy_async %Q
// STAGES: %[[FIRST:.*]] = warp.stage %[[TWO]][%c0]
// STAGES: warp.copy_async %K[%c0, %c0] dims [0, 1] to %[[FIRST]]
// STAGES-NOT: warp.wait_group
// STAGES: scf.for %[[N:.*]] = %c0 to %N step %c16 iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %c0)
// STAGES: %[[HERE:.*]] = warp.stage %[[TWO]][%[[SLOT]]]
// STAGES: warp.wait_group 0
// STAGES-NEXT: warp.barrier
// STAGES: %[[AHEAD:.*]] = arith.addi %[[N]], %c16
// STAGES: %[[OTHER:.*]] = arith.subi %c1, %[[SLOT]]
// STAGES: scf.if
// STAGES: %[[THERE:.*]] = warp.stage %[[TWO]][%[[OTHER]]]
// STAGES: warp.copy_async %K[%[[AHEAD]], %c0] dims [0, 1] to %[[THERE]]
// STAGES: warp.ldmatrix %[[HERE]]
// STAGES: warp.wait_group 0
// STAGES: vector.reduction
tile.program @inside sizes(%N) ins(%Q: bf16[16, 16], %K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @inside_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    warp.copy_async %Q[%c0, %c0] dims [0, 1] to %q : tensor<16x16xbf16>, !buffer
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %a = warp.ldmatrix %q[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %ab = arith.mulf %a, %b : vector<8xbf16>
      %sum = arith.addf %acc, %ab : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %s = vector.reduction <add>, %r : vector<8xbf16> into bf16
    %x = arith.extf %s : bf16 to f32
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// Between loops that hand over Q is copied again, perhaps to where the first copy is still on its way, as the first loop need
// not turn: each is waited for where it was.
// CHECK-LABEL: warp.kernel @between_0
// CHECK: warp.copy_async %Q
// CHECK: warp.wait_group
// CHECK-NEXT: warp.barrier
// CHECK: scf.for
// CHECK: warp.copy_async %Q
// CHECK: warp.wait_group
// CHECK-NEXT: warp.barrier
// CHECK: scf.for
tile.program @between sizes(%N) ins(%Q: bf16[16, 16], %K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @between_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    %p = warp.alloc : !buffer
    %l = warp.alloc : !buffer
    %half = arith.divui %N, %c16 : index
    warp.copy_async %Q[%c0, %c0] dims [0, 1] to %q : tensor<16x16xbf16>, !buffer
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %r = scf.for %n = %c0 to %half step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %a = warp.ldmatrix %q[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %ab = arith.mulf %a, %b : vector<8xbf16>
      %sum = arith.addf %acc, %ab : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    warp.barrier
    warp.copy_async %Q[%c0, %c0] dims [0, 1] to %p : tensor<16x16xbf16>, !buffer
    warp.commit_group
    warp.wait_group 0
    warp.barrier
    %t = scf.for %n = %half to %N step %c16 iter_args(%acc = %r) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %l : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %a = warp.ldmatrix %p[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %b = warp.ldmatrix %l[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %ab = arith.mulf %a, %b : vector<8xbf16>
      %sum = arith.addf %acc, %ab : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %s = vector.reduction <add>, %t : vector<8xbf16> into bf16
    %x = arith.extf %s : bf16 to f32
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// A loop of whole programs copies each one's Q as a program of its own would: two would take room that the tiles were not
// chosen for. K of the loop in it runs ahead.
// CHECK-LABEL: warp.kernel @programs_0
// CHECK-NOT: warp.copy_async
// CHECK: scf.for %[[I:.*]] = %c0 to %M
// CHECK-NEXT: warp.barrier
// CHECK-NEXT: warp.copy_async %Q[%[[I]], %c0]
// CHECK-NEXT: warp.commit_group
// CHECK-NEXT: warp.wait_group 0
// CHECK-NEXT: warp.barrier
// CHECK: scf.if
// CHECK-NEXT: warp.copy_async %K[%c0, %c0]
// CHECK: scf.for
// CHECK: tile.programs
// STAGES-LABEL: warp.kernel @programs_0
// STAGES-NOT: warp.copy_async
// STAGES: %[[Q:.*]] = warp.alloc : {{.*}} period = 2>>{{$}}
// STAGES: scf.for %[[I:.*]] = %c0 to %M
// STAGES-NEXT: warp.barrier
// STAGES-NEXT: warp.copy_async %Q[%[[I]], %c0] dims [0, 1] to %[[Q]] :
tile.program @programs sizes(%M, %N) ins(%Q: bf16[M, 16], %K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @programs_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    scf.for %m = %c0 to %M step %c16 {
      warp.barrier
      warp.copy_async %Q[%m, %c0] dims [0, 1] to %q : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
        warp.barrier
        warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
        warp.commit_group
        warp.wait_group 0
        warp.barrier
        %a = warp.ldmatrix %q[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
        %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
        %ab = arith.mulf %a, %b : vector<8xbf16>
        %sum = arith.addf %acc, %ab : vector<8xbf16>
        scf.yield %sum : vector<8xbf16>
      }
      %s = vector.reduction <add>, %r : vector<8xbf16> into bf16
      %wide = arith.extf %s : bf16 to f32
      %at = arith.divui %m, %c16 : index
      warp.store %wide, %O[%at] : f32, tensor<16xf32>
    } {tile.axis = "i", tile.programs}
  }
}

// -----

!buffer = !warp.buffer<16x16xbf16, #tile.shared<pitch = 16, chunk = 8, rows = 4, period = 2>>

// What is the same in each iteration, where nothing moved it out, has one buffer and stays.
// STAGES-LABEL: warp.kernel @same_0
// STAGES: warp.alloc : !warp.buffer<16x16xbf16, {{[^,]*, [^,]*, [^,]*, [^,]*}}>>
// STAGES-NEXT: warp.alloc : {{.*}}, stages = 2>
// STAGES: scf.for
// STAGES: warp.copy_async %Q[%c0, %c0]
// STAGES-NEXT: warp.commit_group
// STAGES-NEXT: warp.wait_group 0
tile.program @same sizes(%N) ins(%Q: bf16[16, 16], %K: bf16[N, 16]) outs(%O: f32[16]) {
  warp.kernel @same_0 grid() warps(1) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %q = warp.alloc : !buffer
    %k = warp.alloc : !buffer
    %zero = arith.constant dense<0.0> : vector<8xbf16>
    %r = scf.for %n = %c0 to %N step %c16 iter_args(%acc = %zero) -> vector<8xbf16> {
      warp.barrier
      warp.copy_async %Q[%c0, %c0] dims [0, 1] to %q : tensor<16x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %a = warp.ldmatrix %q[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      warp.barrier
      warp.copy_async %K[%n, %c0] dims [0, 1] to %k : tensor<?x16xbf16>, !buffer
      warp.commit_group
      warp.wait_group 0
      warp.barrier
      %b = warp.ldmatrix %k[%c0, %c0] num 4 : !buffer -> vector<8xbf16>
      %ab = arith.mulf %a, %b : vector<8xbf16>
      %sum = arith.addf %acc, %ab : vector<8xbf16>
      scf.yield %sum : vector<8xbf16>
    }
    %s = vector.reduction <add>, %r : vector<8xbf16> into bf16
    %x = arith.extf %s : bf16 to f32
    warp.store %x, %O[%c0] : f32, tensor<16xf32>
  }
}
