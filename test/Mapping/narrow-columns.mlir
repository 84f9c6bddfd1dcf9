// RUN: attentile-opt %s --tile-narrow-columns | FileCheck %s

#m = #tile.axes<"m">
#n = #tile.axes<"n">
#d = #tile.axes<"d">
#e = #tile.axes<"e">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#mn = #tile.axes<"m", "n">
#me = #tile.axes<"m", "e">
tile.program @p sizes(%M, %N) ins(%Q: bf16[M, 16], %K: bf16[N, 16], %V: bf16[N, 16]) outs(%O: f32[M, 16]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %hidden = arith.constant dense<0.0> : tensor<128x64xf32, #mn>
  %none = arith.constant dense<0.0> : tensor<128x16xf32, #me>
  // Scores of 48 columns, which masks ask of their own indices; factors are loaded whole.
  // CHECK-LABEL: tile.kernel @narrow
  // CHECK: %[[LIMIT:[^ ]*]] = arith.constant dense<0.000000e+00> : tensor<128x48xf32, #m_n_seen>
  // CHECK: scf.for %[[N0:[^ ]*]] =
  // CHECK: %[[N:[^ ]*]] = tile.index %[[N0]] : tensor<64xindex, #n>
  // CHECK: %[[FROM:[^ ]*]] = arith.select
  // CHECK: %[[START:[^ ]*]] = arith.addi %[[N0]], %[[FROM]]
  // CHECK: %[[SEEN:[^ ]*]] = tile.index %[[START]] : tensor<48xindex, #n_seen>
  // CHECK: %[[K:[^ ]*]] = tile.load %K[%[[N]], %{{.*}} -> tensor<64x16xbf16, #n_d>
  // CHECK: %[[KS:[^ ]*]] = tile.slice %[[K]] along "n" from %[[FROM]] : tensor<64x16xbf16, #n_d> to tensor<48x16xbf16, #n_seen_d>
  // CHECK: %[[S:[^ ]*]] = tile.dot %{{.*}}, %[[KS]] over ["d"] {{.*}} -> tensor<128x48xf32, #m_n_seen>
  // CHECK: tile.broadcast %[[SEEN]] : tensor<48xindex, #n_seen> to tensor<128x48xindex, #m_n_seen>
  // CHECK: arith.select %{{[^ ]*}}, %[[S]], %[[LIMIT]] : tensor<128x48xi1, #m_n_seen>
  // CHECK: %[[V:[^ ]*]] = tile.load %V[%[[N]]
  // CHECK: %[[VS:[^ ]*]] = tile.slice %[[V]] along "n" from %[[FROM]]
  // CHECK: tile.dot %{{.*}}, %[[VS]] acc %{{.*}} over ["n_seen"] product bf16
  // CHECK-NOT: tile.sees
  tile.kernel @narrow grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
    %m = tile.index %i : tensor<128xindex, #m>
    %dd = tile.index %c0 : tensor<16xindex, #d>
    %ee = tile.index %c0 : tensor<16xindex, #e>
    %q = tile.load %Q[%m, %dd] : tensor<?x16xbf16>, (tensor<128xindex, #m>, tensor<16xindex, #d>) -> tensor<128x16xbf16, #md>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %none) -> (tensor<128x16xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %odd = arith.cmpi sgt, %n0, %i : index
      %from = arith.select %odd, %c16, %c0 : index
      tile.sees 48 from %from of 32
      %k = tile.load %K[%n, %dd] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #d>) -> tensor<64x16xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x16xbf16, #md>, tensor<64x16xbf16, #nd> -> tensor<128x64xf32, #mn>
      %ms = tile.broadcast %m : tensor<128xindex, #m> to tensor<128x64xindex, #mn>
      %ns = tile.broadcast %n : tensor<64xindex, #n> to tensor<128x64xindex, #mn>
      %near = arith.cmpi sle, %ns, %ms : tensor<128x64xindex, #mn>
      %x = arith.select %near, %s, %hidden : tensor<128x64xi1, #mn>, tensor<128x64xf32, #mn>
      %v = tile.load %V[%n, %ee] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #e>) -> tensor<64x16xbf16, #ne>
      %o = tile.dot %x, %v acc %acc over ["n"] product bf16 : tensor<128x64xf32, #mn>, tensor<64x16xbf16, #ne> acc tensor<128x16xf32, #me> -> tensor<128x16xf32, #me>
      scf.yield %o : tensor<128x16xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %O[%m, %ee] : tensor<128x16xf32, #me>, tensor<?x16xf32>, (tensor<128xindex, #m>, tensor<16xindex, #e>)
  }
  // Warps with other rows than it was told of: all are computed.
  // CHECK-LABEL: tile.kernel @other_rows
  // CHECK-NOT: tile.slice
  tile.kernel @other_rows grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 2>} {
    %m = tile.index %i : tensor<128xindex, #m>
    %dd = tile.index %c0 : tensor<16xindex, #d>
    %ee = tile.index %c0 : tensor<16xindex, #e>
    %q = tile.load %Q[%m, %dd] : tensor<?x16xbf16>, (tensor<128xindex, #m>, tensor<16xindex, #d>) -> tensor<128x16xbf16, #md>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %none) -> (tensor<128x16xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      tile.sees 48 from %c16 of 32
      %k = tile.load %K[%n, %dd] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #d>) -> tensor<64x16xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x16xbf16, #md>, tensor<64x16xbf16, #nd> -> tensor<128x64xf32, #mn>
      %v = tile.load %V[%n, %ee] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #e>) -> tensor<64x16xbf16, #ne>
      %o = tile.dot %s, %v acc %acc over ["n"] product bf16 : tensor<128x64xf32, #mn>, tensor<64x16xbf16, #ne> acc tensor<128x16xf32, #me> -> tensor<128x16xf32, #me>
      scf.yield %o : tensor<128x16xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %O[%m, %ee] : tensor<128x16xf32, #me>, tensor<?x16xf32>, (tensor<128xindex, #m>, tensor<16xindex, #e>)
  }
}
