// RUN: attentile-opt %s -attn-compare-positions | FileCheck %s

// CHECK-LABEL: attn.kernel @decay
// CHECK: %[[D:.*]] = arith.subi %m, %n
// CHECK: arith.cmpi sge, %m, %n
// CHECK: %[[END:.*]] = arith.addi %n, %c8
// CHECK: arith.cmpi slt, %m, %[[END]]
// CHECK: arith.index_cast %[[D]]
attn.kernel @decay sizes(%M, %N) indices(%m < M, %n < N) ins(%V: f32[N]) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %d = arith.subi %m, %n : index
  %seen = arith.cmpi sge, %d, %c0 : index
  %near = arith.cmpi slt, %d, %c8 : index
  %both = arith.andi %seen, %near : i1
  %i = arith.index_cast %d : index to i64
  %f = arith.sitofp %i : i64 to f32
  %w = arith.select %both, %f, %zero : f32
  %v = attn.read %V[%n] : tensor<?xf32>
  %t = arith.mulf %w, %v : f32
  %o = attn.reduce sum %t over(%n) product f32 : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}

// A limit of 32 bits; none that may be larger. What is loaded may be too, and what is only compared stays as it is.
// CHECK-LABEL: attn.kernel @limits
// CHECK-DAG: %[[D:.*]] = arith.subi %m, %n
// CHECK-DAG: %[[END:.*]] = arith.addi %n, %window
// CHECK: arith.cmpi slt, %m, %[[END]]
// CHECK: arith.cmpi slt, %[[D]], %wide
// CHECK: arith.cmpi slt, %{{[0-9]+}}, %c0
// CHECK: %[[ONLY:.*]] = arith.subi %n, %m
// CHECK: arith.cmpi slt, %[[ONLY]], %c0
attn.kernel @limits sizes(%M, %N) indices(%m < M, %n < N) ins(%P: i64[M], %window: index, %wide: index) outs(%O: f32[M]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -2147483648 : index
  %most = arith.constant 2147483647 : index
  %above = arith.cmpi sge, %window, %least : index
  %below = arith.cmpi sle, %window, %most : index
  %fits = arith.andi %above, %below : i1
  attn.assume %fits, "window fits i32"
  %d = arith.subi %m, %n : index
  %a = arith.cmpi slt, %d, %window : index
  %b = arith.cmpi slt, %d, %wide : index
  %p = attn.read %P[%m] : tensor<?xi64>
  %from = arith.index_cast %p : i64 to index
  %e = arith.subi %from, %n : index
  %c = arith.cmpi slt, %e, %c0 : index
  %only = arith.subi %n, %m : index
  %f = arith.cmpi slt, %only, %c0 : index
  %ab = arith.andi %a, %b : i1
  %cf = arith.andi %c, %f : i1
  %all = arith.andi %ab, %cf : i1
  %sum = arith.addi %d, %e : index
  %i = arith.index_cast %sum : index to i64
  %g = arith.sitofp %i : i64 to f32
  %w = arith.select %all, %g, %zero : f32
  %o = attn.reduce sum %w over(%n) : f32
  attn.write %o to %O[%m] : f32, tensor<?xf32>
}
