// RUN: attentile-opt %s | attentile-opt | FileCheck %s

// CHECK-LABEL: attn.kernel @causal sizes(%B, %H, %G, %M, %N) indices(%b < B, %h < H, %m < M, %n < N, %d < 64, %e < 64)
// CHECK-NEXT: ins(%Q: bf16[B, H, M, 64], %K: bf16[B, G, N, 64], %V: bf16[B, G, N, 64], %scale: f32) outs(%O: bf16[B, H, M, 64], %L: f32[B, H, M])
attn.kernel @causal sizes(%B, %H, %G, %M, %N)
    indices(%b < B, %h < H, %m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: bf16[B, H, M, 64], %K: bf16[B, G, N, 64], %V: bf16[B, G, N, 64], %scale: f32)
    outs(%O: bf16[B, H, M, 64], %L: f32[B, H, M]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rest = attn.floormod %H, %G : index
  %multiple = arith.cmpi eq, %rest, %c0 : index
  attn.assume %multiple, "H % G == 0"
  %positive = arith.cmpf ogt, %scale, %zero : f32
  attn.assume %positive, "scale > 0"
  %default = arith.constant 0.125 : f32
  attn.default %scale = %default : f32, f32
  %group = attn.floordiv %H, %G : index
  %g = attn.floordiv %h, %group : index
  %q16 = attn.read %Q[%b, %h, %m, %d] : tensor<?x?x?x64xbf16>
  %q = arith.extf %q16 : bf16 to f32
  %k16 = attn.read %K[%b, %g, %n, %d] : tensor<?x?x?x64xbf16>
  %k = arith.extf %k16 : bf16 to f32
  %qk = arith.mulf %q, %k : f32
  // CHECK: attn.reduce sum %{{.*}} over(%d) product bf16 : f32
  %s0 = attn.reduce sum %qk over (%d) product bf16 : f32
  %s1 = arith.mulf %s0, %scale : f32
  %shift = arith.subi %N, %M : index
  %last = arith.addi %m, %shift : index
  %visible = arith.cmpi sle, %n, %last : index
  %hidden = arith.constant 0xFF800000 : f32
  %s = arith.select %visible, %s1, %hidden : f32
  // CHECK: attn.softmax
  %p = attn.softmax %s over (%n) : f32
  %v16 = attn.read %V[%b, %g, %n, %e] : tensor<?x?x?x64xbf16>
  %v = arith.extf %v16 : bf16 to f32
  %pv = arith.mulf %p, %v : f32
  %o = attn.reduce sum %pv over (%n) product bf16 : f32
  %l = attn.logsumexp %s over (%n) : f32
  attn.write %o to %O[%b, %h, %m, %e] : f32, tensor<?x?x?x64xbf16>
  // CHECK: attn.write %{{.*}} to %L[%b, %h, %m] : f32, tensor<?x?x?xf32>
  attn.write %l to %L[%b, %h, %m] : f32, tensor<?x?x?xf32>
}

// CHECK-LABEL: attn.kernel @sizes sizes(%B)
// CHECK-SAME: indices(%b < B + 1)
// CHECK: ins(%X: i32[B + 1])
attn.kernel @sizes sizes(%B) indices(%b < B + 1) ins(%X: i32[B + 1]) outs(%Y: i32[B + 1]) {
  %w = attn.workspace "w" shape affine_map<()[s0] -> (s0 + 1)> : tensor<?xf32>
  attn.grid step(%b) tile() loop() whole() {
    %x = attn.read %X[%b] : tensor<?xi32>
    %y = arith.index_cast %x : i32 to index
    attn.write %y to %Y[%b] : index, tensor<?xi32>
  }
}

// CHECK-LABEL: attn.kernel @tiles
// CHECK: %[[R:.*]]:2 = attn.for %tile of %n from %c0 to %N by 64 carry(%[[SUM:.*]] = %{{.*}}, %[[COUNT:.*]] = %c0) : f32, index {
// CHECK: attn.reduce sum %{{.*}} over(%tile) : f32
// CHECK: attn.next %{{.*}}, %[[COUNT]] : f32, index
// CHECK: attn.write %[[R]]#0
attn.kernel @tiles sizes(%M, %N) indices(%m < M, %n < N) ins(%X: f32[M, N]) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = attn.read %X[%m, %n] : tensor<?x?xf32>
  %r:2 = attn.for %t of %n from %c0 to %N by 64 carry(%sum = %zero, %count = %c0) : f32, index {
    %of_tile = attn.reduce sum %x over (%t) : f32
    %next = arith.addf %sum, %of_tile : f32
    attn.next %next, %count : f32, index
  }
  attn.write %r#0 to %Y[%m] : f32, tensor<?xf32>
}
