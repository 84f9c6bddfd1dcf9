// RUN: attentile-opt %s -attn-gather-products -split-input-file | FileCheck %s
// RUN: attentile-opt %s -attn-gather-products -attn-form-grids -split-input-file | FileCheck %s --check-prefix=GRIDS

// A row of a table for each pair: products with all rows, in workspace, of which pairs read one.
// CHECK-LABEL: attn.kernel @relative
// CHECK-SAME: indices(%b < B, %m < M, %n < N, %d < 64, %e < 64, %row < Z)
// CHECK: %[[I:.*]] = arith.subi %n, %m
// CHECK: %[[Q:.*]] = arith.extf
// CHECK: %[[R:.*]] = attn.read %R[%row, %d]
// CHECK: %[[ROW:.*]] = arith.extf %[[R]]
// CHECK: %[[P:.*]] = arith.mulf %[[Q]], %[[ROW]]
// CHECK: %[[ALL:.*]] = attn.reduce sum %[[P]] over(%d) product bf16
// CHECK: %[[W:.*]] = attn.workspace "products" shape {{.*}} : tensor<?x?x?xf32>
// CHECK: attn.write %[[ALL]] to %[[W]][%b, %m, %row]
// CHECK: %[[S:.*]] = attn.read %[[W]][%b, %m, %[[I]]]
// CHECK: math.exp %[[S]]
// GRIDS-LABEL: attn.kernel @relative
// GRIDS: attn.grid step(%b) tile(%m, %row) loop(%d)
// GRIDS: attn.grid step(%b) tile(%m) loop(%n)
// GRIDS: attn.read %products
attn.kernel @relative sizes(%B, %M, %N, %Z) indices(%b < B, %m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: bf16[B, M, 64], %R: bf16[Z, 64], %V: bf16[B, N, 64]) outs(%O: f32[B, M, 64]) {
  %i = arith.subi %n, %m : index
  %q = attn.read %Q[%b, %m, %d] : tensor<?x?x64xbf16>
  %query = arith.extf %q : bf16 to f32
  %r = attn.read %R[%i, %d] : tensor<?x64xbf16>
  %row = arith.extf %r : bf16 to f32
  %p = arith.mulf %query, %row : f32
  %s = attn.reduce sum %p over(%d) product bf16 : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%b, %n, %e] : tensor<?x?x64xbf16>
  %value = arith.extf %v : bf16 to f32
  %x = arith.mulf %w, %value : f32
  %o = attn.reduce sum %x over(%n) product bf16 : f32
  attn.write %o to %O[%b, %m, %e] : f32, tensor<?x?x64xf32>
}

// -----

// Keys with such rows added: no product of matrices before, as the queries lack no axis that those have; two after,
// of what was read, so that nothing is rounded.
// CHECK-LABEL: attn.kernel @added
// CHECK: %[[PK:.*]] = arith.mulf %[[Q:.*]], %[[K:.*]] : f32
// CHECK: %[[KS:.*]] = attn.reduce sum %[[PK]] over(%d) product f16
// CHECK: %[[PR:.*]] = arith.mulf %[[Q]], %{{.*}} : f32
// CHECK: attn.reduce sum %[[PR]] over(%d) product f16
// CHECK: %[[RS:.*]] = attn.read %{{.*}}[%m, %{{.*}}]
// CHECK: arith.subf %[[KS]], %[[RS]]
attn.kernel @added sizes(%M, %N) indices(%m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: f16[M, 64], %K: f16[N, 64], %R: f16[9, 64], %V: f16[N, 64]) outs(%O: f32[M, 64]) {
  %i = arith.subi %n, %m : index
  %q = attn.read %Q[%m, %d] : tensor<?x64xf16>
  %query = arith.extf %q : f16 to f32
  %k = attn.read %K[%n, %d] : tensor<?x64xf16>
  %key = arith.extf %k : f16 to f32
  %r = attn.read %R[%i, %d] : tensor<9x64xf16>
  %row = arith.extf %r : f16 to f32
  %sum = arith.subf %key, %row : f32
  %p = arith.mulf %query, %sum : f32
  %s = attn.reduce sum %p over(%d) : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf16>
  %value = arith.extf %v : f16 to f32
  %x = arith.mulf %w, %value : f32
  %o = attn.reduce sum %x over(%n) product f16 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// -----

// A factor that was computed enters in f32; rows and columns of a picture have a table each.
// CHECK-LABEL: attn.kernel @picture
// CHECK-SAME: %row < 15, %row1 < 9)
// CHECK: attn.read %Y[%row, %d]
// CHECK: over(%d) product f32
// CHECK: attn.workspace "products" {{.*}} : tensor<?x15xf32>
// CHECK: attn.read %X[%row1, %d]
// CHECK: over(%d) product f32
// CHECK: attn.workspace "products_1" {{.*}} : tensor<?x9xf32>
attn.kernel @picture sizes(%N) indices(%m < N, %n < N, %d < 64, %e < 64)
    ins(%Q: bf16[N, 64], %Y: bf16[15, 64], %X: bf16[9, 64], %V: bf16[N, 64]) outs(%O: f32[N, 64]) {
  %c8 = arith.constant 8 : index
  %my = attn.floordiv %m, %c8 : index
  %ny = attn.floordiv %n, %c8 : index
  %y = arith.subi %my, %ny : index
  %mx = attn.floormod %m, %c8 : index
  %nx = attn.floormod %n, %c8 : index
  %x = arith.subi %mx, %nx : index
  %q = attn.read %Q[%m, %d] : tensor<?x64xbf16>
  %widened = arith.extf %q : bf16 to f32
  %query = math.tanh %widened : f32
  %yread = attn.read %Y[%y, %d] : tensor<15x64xbf16>
  %yrow = arith.extf %yread : bf16 to f32
  %yp = arith.mulf %query, %yrow : f32
  %ys = attn.reduce sum %yp over(%d) : f32
  %xread = attn.read %X[%x, %d] : tensor<9x64xbf16>
  %xrow = arith.extf %xread : bf16 to f32
  %xp = arith.mulf %query, %xrow : f32
  %xs = attn.reduce sum %xp over(%d) : f32
  %s = arith.addf %ys, %xs : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xbf16>
  %value = arith.extf %v : bf16 to f32
  %t = arith.mulf %w, %value : f32
  %o = attn.reduce sum %t over(%n) product bf16 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// -----

// Rows projected in the kernel: all of them, once.
// CHECK-LABEL: attn.kernel @projected
// CHECK: %[[P:.*]] = attn.read %P[%row, %c]
// CHECK: %[[S:.*]] = attn.reduce sum %{{.*}} over(%c)
// CHECK: attn.materialize %[[S]], "r"
// CHECK: attn.workspace "products"
attn.kernel @projected sizes(%M, %N, %Z, %C) indices(%m < M, %n < N, %d < 64, %e < 64, %c < C)
    ins(%Q: f32[M, 64], %P: f32[Z, C], %W: f32[C, 64], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %i = arith.subi %n, %m : index
  %pr = attn.read %P[%i, %c] : tensor<?x?xf32>
  %wr = attn.read %W[%c, %d] : tensor<?x64xf32>
  %t = arith.mulf %pr, %wr : f32
  %sum = attn.reduce sum %t over(%c) product f32 : f32
  %r = attn.materialize %sum, "r" : f32
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %p = arith.mulf %q, %r : f32
  %s = attn.reduce sum %p over(%d) : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %x = arith.mulf %w, %v : f32
  %o = attn.reduce sum %x over(%n) product f32 : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// -----

// A window that each row gathers: no factor has keys without rows. All of K would be multiplied for a few.
// CHECK-LABEL: attn.kernel @window
// CHECK-NOT: attn.workspace
attn.kernel @window sizes(%M, %N) indices(%m < M, %j < 9, %d < 64, %e < 64)
    ins(%Q: f32[M, 64], %K: f32[N, 64], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %i = arith.addi %m, %j : index
  %q = attn.read %Q[%m, %d] : tensor<?x64xf32>
  %k = attn.read %K[%i, %d] : tensor<?x64xf32>
  %p = arith.mulf %q, %k : f32
  %s = attn.reduce sum %p over(%d) : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%i, %e] : tensor<?x64xf32>
  %x = arith.mulf %w, %v : f32
  %o = attn.reduce sum %x over(%j) : f32
  attn.write %o to %O[%m, %e] : f32, tensor<?x64xf32>
}

// -----

// Values by rows of a table are summed over keys, on which the rows depend.
// CHECK-LABEL: attn.kernel @values
// CHECK-NOT: attn.workspace
attn.kernel @values sizes(%M, %N) indices(%m < M, %n < N, %e < 64)
    ins(%S: f32[M, N], %R: f32[9, 64], %V: f32[N, 64]) outs(%O: f32[M, 64]) {
  %i = arith.subi %n, %m : index
  %s = attn.read %S[%m, %n] : tensor<?x?xf32>
  %r = attn.read %R[%i, %e] : tensor<9x64xf32>
  %v = attn.read %V[%n, %e] : tensor<?x64xf32>
  %p = arith.mulf %s, %r : f32
  %sum = attn.reduce sum %p over(%n) : f32
  %x = arith.mulf %s, %v : f32
  %o = attn.reduce sum %x over(%n) product f32 : f32
  %both = arith.addf %sum, %o : f32
  attn.write %both to %O[%m, %e] : f32, tensor<?x64xf32>
}

// -----

// The row's number comes from a tensor by distance and batch: the products have all rows of R, and none of buckets.
// CHECK-LABEL: attn.kernel @buckets
// CHECK-SAME: %row < Z)
// CHECK: %[[BUCKET:.*]] = attn.read %buckets
// CHECK: %[[I:.*]] = arith.index_cast %[[BUCKET]]
// CHECK: attn.read %R[%row, %d]
// CHECK: attn.write %{{.*}} to %products[%b, %m, %row]
// CHECK: attn.read %products[%b, %m, %[[I]]]
attn.kernel @buckets sizes(%B, %M, %N, %Z) indices(%b < B, %m < M, %n < N, %d < 64, %e < 64)
    ins(%Q: bf16[B, M, 64], %R: bf16[Z, 64], %buckets: i32[99], %shift: i32[B], %V: bf16[B, N, 64]) outs(%O: f32[B, M, 64]) {
  %distance = arith.subi %n, %m : index
  %read = attn.read %shift[%b] : tensor<?xi32>
  %shifted = arith.index_cast %read : i32 to index
  %place = arith.addi %distance, %shifted : index
  %bucket = attn.read %buckets[%place] : tensor<99xi32>
  %i = arith.index_cast %bucket : i32 to index
  %q = attn.read %Q[%b, %m, %d] : tensor<?x?x64xbf16>
  %query = arith.extf %q : bf16 to f32
  %r = attn.read %R[%i, %d] : tensor<?x64xbf16>
  %row = arith.extf %r : bf16 to f32
  %p = arith.mulf %query, %row : f32
  %s = attn.reduce sum %p over(%d) product bf16 : f32
  %w = math.exp %s : f32
  %v = attn.read %V[%b, %n, %e] : tensor<?x?x64xbf16>
  %value = arith.extf %v : bf16 to f32
  %x = arith.mulf %w, %value : f32
  %o = attn.reduce sum %x over(%n) product bf16 : f32
  attn.write %o to %O[%b, %m, %e] : f32, tensor<?x?x64xf32>
}
