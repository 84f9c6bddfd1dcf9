// RUN: attentile-opt %s --warp-mask-pairs --cse --split-input-file | FileCheck %s

// Rounded first, then masked; what is added to the word stands before the loop.
// CHECK-LABEL: warp.kernel @pairs
// CHECK: %[[CLAMPED:.*]] = arith.maxsi
// CHECK: %[[LEFT:.*]] = arith.subi %c32768_i32, %[[CLAMPED]]
// CHECK: %[[OFFSETS:.*]] = arith.muli %[[LEFT]], %c65537_i32
// CHECK: scf.for
// CHECK: %[[WORD:.*]] = arith.andi %{{.*}}, %c2139062143
// CHECK: %[[BOTH:.*]] = vector.from_elements %[[P:.*]], %[[P]] : vector<2xf32>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[BOTH]] : vector<2xf32> to vector<2xbf16>
// CHECK: %[[SUM:.*]] = arith.addi %[[WORD]], %[[OFFSETS]] : i32
// CHECK: %[[MASK:.*]] = nvvm.prmt <default> %{{.*}}, %[[SUM]], %[[SUM]] : i32
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[ROUNDED]] : vector<2xbf16> to i32
// CHECK: arith.andi %[[BITS]], %[[MASK]] : i32
// The halves of a turned word.
// CHECK: nvvm.prmt
tile.program @p sizes(%N) ins(%W: i32[N], %X: f32[N], %least: index) outs(%Y: f32[N]) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c24 = arith.constant 24 : i32
  %low = arith.constant 65535 : i32
  %mask = arith.constant 0x7f7f7f7f : i32
  warp.kernel @pairs grid(%i < %N) warps(1) {
    %limit = arith.index_cast %least : index to i32
    scf.for %n = %c0 to %N step %c1 {
      %drawn = warp.load %W[%n] : tensor<?xi32> -> i32
      %p = warp.load %X[%n] : tensor<?xf32> -> f32
      %word = arith.andi %drawn, %mask : i32
      %a = arith.andi %word, %low : i32
      %b = arith.shrui %word, %c16 : i32
      %keeps_a = arith.cmpi sge, %a, %limit : i32
      %keeps_b = arith.cmpi sge, %b, %limit : i32
      %x = arith.select %keeps_a, %p, %zero : f32
      %y = arith.select %keeps_b, %p, %zero : f32
      %two = vector.from_elements %x, %y : vector<2xf32>
      %rounded = arith.truncf %two : vector<2xf32> to vector<2xbf16>
      %down = arith.shrui %word, %c8 : i32
      %up = arith.shli %word, %c24 : i32
      %turned = arith.ori %down, %up : i32
      %c = arith.andi %turned, %low : i32
      %d = arith.shrui %turned, %c16 : i32
      %keeps_c = arith.cmpi sge, %c, %limit : i32
      %keeps_d = arith.cmpi sge, %d, %limit : i32
      %z = arith.select %keeps_c, %p, %zero : f32
      %w = arith.select %keeps_d, %p, %zero : f32
      %more = vector.from_elements %z, %w : vector<2xf32>
      %again = arith.truncf %more : vector<2xf32> to vector<2xbf16>
      %sum = arith.addf %rounded, %again : vector<2xbf16>
      %first = vector.extract %sum[0] : bf16 from vector<2xbf16>
      %out = arith.extf %first : bf16 to f32
      warp.store %out, %Y[%n] : f32, tensor<?xf32>
    }
  }
}

// -----

// A word that may have 16 bits, halves in the other order, another threshold
// each: as written.
// CHECK-LABEL: warp.kernel @others
// CHECK-NOT: nvvm.prmt
// CHECK-COUNT-5: arith.select
tile.program @p sizes(%N) ins(%W: i32[N], %X: f32[N], %least: index) outs(%Y: f32[N]) {
  %zero = arith.constant 0.0 : f32
  %c16 = arith.constant 16 : i32
  %low = arith.constant 65535 : i32
  %mask = arith.constant 0x7f7f7f7f : i32
  warp.kernel @others grid(%i < %N) warps(1) {
    %limit = arith.index_cast %least : index to i32
    %drawn = warp.load %W[%i] : tensor<?xi32> -> i32
    %p = warp.load %X[%i] : tensor<?xf32> -> f32
    %a = arith.andi %drawn, %low : i32
    %b = arith.shrui %drawn, %c16 : i32
    %keeps_a = arith.cmpi sge, %a, %limit : i32
    %keeps_b = arith.cmpi sge, %b, %limit : i32
    %x = arith.select %keeps_a, %p, %zero : f32
    %y = arith.select %keeps_b, %p, %zero : f32
    %two = vector.from_elements %x, %y : vector<2xf32>
    %rounded = arith.truncf %two : vector<2xf32> to vector<2xbf16>
    %word = arith.andi %drawn, %mask : i32
    %c = arith.andi %word, %low : i32
    %d = arith.shrui %word, %c16 : i32
    %keeps_c = arith.cmpi sge, %c, %limit : i32
    %keeps_d = arith.cmpi sge, %d, %limit : i32
    %less = arith.cmpi sge, %d, %low : i32
    %z = arith.select %keeps_c, %p, %zero : f32
    %w = arith.select %keeps_d, %p, %zero : f32
    %v = arith.select %less, %p, %zero : f32
    %swapped = vector.from_elements %w, %z : vector<2xf32>
    %again = arith.truncf %swapped : vector<2xf32> to vector<2xbf16>
    %mixed = vector.from_elements %z, %v : vector<2xf32>
    %third = arith.truncf %mixed : vector<2xf32> to vector<2xbf16>
    %sum = arith.addf %rounded, %again : vector<2xbf16>
    %all = arith.addf %sum, %third : vector<2xbf16>
    %first = vector.extract %all[0] : bf16 from vector<2xbf16>
    %out = arith.extf %first : bf16 to f32
    warp.store %out, %Y[%i] : f32, tensor<?xf32>
  }
}
