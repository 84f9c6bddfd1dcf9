// RUN: attentile-opt %s --tile-start-sums-at-bias --cse --split-input-file | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#m_d = #tile.axes<"m", "d">
#n_d = #tile.axes<"n", "d">
#m_n = #tile.axes<"m", "n">

// The keys' places in the tile, from its middle, times slope / scale start the
// sum; the middle's distance from the row goes with the reference, behind the
// mask as well.
// CHECK-LABEL: tile.kernel @alibi
// CHECK: scf.for %[[N0:[a-z0-9]+]] =
// CHECK: %[[MIDDLE:.*]] = arith.addi %[[N0]], %c16
// CHECK: arith.sitofp %{{.*}} : tensor<64xi64, #m>
// CHECK: %[[ROW:.*]] = arith.mulf %{{.*}} : tensor<64xf32, #m>
// CHECK: %[[J:.*]] = tile.index %c-16 : tensor<32xindex, #n>
// CHECK: arith.divf %slope, %scale : f32
// CHECK: %[[STARTS:.*]] = tile.broadcast %{{.*}} : tensor<32xf32, #n> to tensor<64x32xf32, #m_n>
// CHECK: %[[T:.*]] = tile.dot %{{.*}}, %{{.*}} acc %[[STARTS]]
// CHECK: %[[MASKED:.*]] = arith.select %{{.*}}, %[[T]]
// CHECK: %[[LARGEST:.*]] = tile.reduce ref %[[MASKED]]
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[LARGEST]]
// CHECK: %[[MAXIMUM:.*]] = arith.addf %[[SCALED]], %[[ROW]]
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[MAXIMUM]]
// CHECK: %[[PART:.*]] = arith.mulf %[[ROW]]
// CHECK: %[[MOVED:.*]] = arith.addf %[[PART]], %[[NEGATIVE]]
// CHECK: %[[MOVEDS:.*]] = tile.broadcast %[[MOVED]]
// CHECK: %[[FACTOR:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<64xf32, #m>
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]]
// CHECK: math.fma %[[MASKED]], %[[FACTORS]], %[[MOVEDS]]
tile.program @p sizes(%M, %N) ins(%Q: bf16[M, 16], %K: bf16[N, 16], %slope: f32, %scale: f32) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant dense<0xFF800000> : tensor<64x32xf32, #m_n>
  %none = arith.constant dense<0.0> : tensor<64xf32, #m>
  %one = arith.constant dense<1.0> : tensor<64x32xf32, #m_n>
  %positive = arith.cmpf ogt, %scale, %zero : f32
  attn.assume %positive, "scale > 0"
  tile.kernel @alibi grid(%i < %M) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #tile.axes<"d">>
    %q = tile.load %Q[%m, %d] : tensor<?x16xbf16>, (tensor<64xindex, #m>, tensor<16xindex, #tile.axes<"d">>) -> tensor<64x16xbf16, #m_d>
    %ms = tile.broadcast %m : tensor<64xindex, #m> to tensor<64x32xindex, #m_n>
    %scales = tile.broadcast %scale : f32 to tensor<64x32xf32, #m_n>
    %slopes = tile.broadcast %slope : f32 to tensor<64x32xf32, #m_n>
    %sum = scf.for %n0 = %c0 to %N step %c32 iter_args(%s = %none) -> (tensor<64xf32, #m>) {
      %n = tile.index %n0 : tensor<32xindex, #n>
      %ns = tile.broadcast %n : tensor<32xindex, #n> to tensor<64x32xindex, #m_n>
      %k = tile.load %K[%n, %d] : tensor<?x16xbf16>, (tensor<32xindex, #n>, tensor<16xindex, #tile.axes<"d">>) -> tensor<32x16xbf16, #n_d>
      %qk = tile.dot %q, %k over ["d"] product bf16 : tensor<64x16xbf16, #m_d>, tensor<32x16xbf16, #n_d> -> tensor<64x32xf32, #m_n>
      %x = arith.mulf %scales, %qk : tensor<64x32xf32, #m_n>
      %distance = arith.subi %ns, %ms : tensor<64x32xindex, #m_n>
      %integer = arith.index_cast %distance : tensor<64x32xindex, #m_n> to tensor<64x32xi64, #m_n>
      %float = arith.sitofp %integer : tensor<64x32xi64, #m_n> to tensor<64x32xf32, #m_n>
      %b = arith.mulf %slopes, %float : tensor<64x32xf32, #m_n>
      %y = arith.addf %x, %b : tensor<64x32xf32, #m_n>
      %visible = arith.cmpi sle, %ns, %ms : tensor<64x32xindex, #m_n>
      %z = arith.select %visible, %y, %hidden : tensor<64x32xi1, #m_n>, tensor<64x32xf32, #m_n>
      %max = tile.reduce ref %z over ["n"] : tensor<64x32xf32, #m_n> -> tensor<64xf32, #m>
      %negative = arith.negf %max : tensor<64xf32, #m>
      %refs = tile.broadcast %negative : tensor<64xf32, #m> to tensor<64x32xf32, #m_n>
      %e = math.fma %z, %one, %refs : tensor<64x32xf32, #m_n>
      %p = math.exp2 %e : tensor<64x32xf32, #m_n>
      %t = tile.reduce sum %p over ["n"] : tensor<64x32xf32, #m_n> -> tensor<64xf32, #m>
      %next = arith.addf %s, %t : tensor<64xf32, #m>
      scf.yield %next : tensor<64xf32, #m>
    }
    tile.store %sum, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}

// -----

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#m_d = #tile.axes<"m", "d">
#n_d = #tile.axes<"n", "d">
#m_n = #tile.axes<"m", "n">

// A product of f32 keeps its digits.
// CHECK-LABEL: tile.kernel @precise
// CHECK-NOT: acc
tile.program @p sizes(%M, %N) ins(%Q: f32[M, 16], %K: f32[N, 16], %slope: f32) outs(%Y: f32[M]) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant dense<0.0> : tensor<64xf32, #m>
  %one = arith.constant dense<1.0> : tensor<64x32xf32, #m_n>
  tile.kernel @precise grid(%i < %M) {
    %m0 = arith.muli %i, %c64 : index
    %m = tile.index %m0 : tensor<64xindex, #m>
    %d = tile.index %c0 : tensor<16xindex, #tile.axes<"d">>
    %q = tile.load %Q[%m, %d] : tensor<?x16xf32>, (tensor<64xindex, #m>, tensor<16xindex, #tile.axes<"d">>) -> tensor<64x16xf32, #m_d>
    %ms = tile.broadcast %m : tensor<64xindex, #m> to tensor<64x32xindex, #m_n>
    %slopes = tile.broadcast %slope : f32 to tensor<64x32xf32, #m_n>
    %refs = tile.broadcast %none : tensor<64xf32, #m> to tensor<64x32xf32, #m_n>
    %sum = scf.for %n0 = %c0 to %N step %c32 iter_args(%s = %none) -> (tensor<64xf32, #m>) {
      %n = tile.index %n0 : tensor<32xindex, #n>
      %ns = tile.broadcast %n : tensor<32xindex, #n> to tensor<64x32xindex, #m_n>
      %k = tile.load %K[%n, %d] : tensor<?x16xf32>, (tensor<32xindex, #n>, tensor<16xindex, #tile.axes<"d">>) -> tensor<32x16xf32, #n_d>
      %qk = tile.dot %q, %k over ["d"] product f32 : tensor<64x16xf32, #m_d>, tensor<32x16xf32, #n_d> -> tensor<64x32xf32, #m_n>
      %distance = arith.subi %ns, %ms : tensor<64x32xindex, #m_n>
      %integer = arith.index_cast %distance : tensor<64x32xindex, #m_n> to tensor<64x32xi64, #m_n>
      %float = arith.sitofp %integer : tensor<64x32xi64, #m_n> to tensor<64x32xf32, #m_n>
      %b = arith.mulf %slopes, %float : tensor<64x32xf32, #m_n>
      %y = arith.addf %qk, %b : tensor<64x32xf32, #m_n>
      %e = math.fma %y, %one, %refs : tensor<64x32xf32, #m_n>
      %p = math.exp2 %e : tensor<64x32xf32, #m_n>
      %t = tile.reduce sum %p over ["n"] : tensor<64x32xf32, #m_n> -> tensor<64xf32, #m>
      %next = arith.addf %s, %t : tensor<64xf32, #m>
      scf.yield %next : tensor<64xf32, #m>
    }
    tile.store %sum, %Y[%m] : tensor<64xf32, #m>, tensor<?xf32>, (tensor<64xindex, #m>)
  }
}
