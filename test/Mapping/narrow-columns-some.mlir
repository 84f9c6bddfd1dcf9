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
tile.program @p sizes(%M, %N) ins(%Q: bf16[M, 16], %K: bf16[N, 16], %V: bf16[N, 16], %C: f32[N]) outs(%O: f32[M, 16]) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %hidden = arith.constant dense<0.0> : tensor<128x64xf32, #mn>
  %none = arith.constant dense<0.0> : tensor<128x16xf32, #me>
  // Where it is known of some blocks only both are made: the whole first, of what is loaded and what a branch asks, too.
  // CHECK-LABEL: tile.kernel @either
  // CHECK: scf.for {{.*}} iter_args(%[[ACC:[^ ]*]] =
  // CHECK: tile.either %[[FITS:[^ ]*]]
  // CHECK: %[[WHOLE:[^ ]*]] = tile.dot {{.*}} -> tensor<128x64xf32, #m_n>
  // CHECK: %[[PART:[^ ]*]] = tile.dot {{.*}} -> tensor<128x48xf32, #m_n_seen>
  // CHECK: tile.load %C[%{{.*}}] : {{.*}} -> tensor<64xf32, #n>
  // CHECK: tile.load %C[%{{.*}}] : {{.*}} -> tensor<48xf32, #n_seen>
  // CHECK: %[[X:[^ ]*]] = scf.if {{.*}} -> (tensor<128x64xf32, #m_n>) {
  // CHECK: arith.addf %[[WHOLE]], %{{.*}} : tensor<128x64xf32, #m_n>
  // CHECK: %[[XS:[^ ]*]] = scf.if {{.*}} -> (tensor<128x48xf32, #m_n_seen>) {
  // CHECK: arith.addf %[[PART]], %{{.*}} : tensor<128x48xf32, #m_n_seen>
  // CHECK: %[[O:[^ ]*]] = tile.dot %[[X]], %{{.*}} acc %[[ACC]] over ["n"]
  // CHECK: %[[OS:[^ ]*]] = tile.dot %[[XS]], %{{.*}} acc %[[ACC]] over ["n_seen"]
  // CHECK: %[[NEXT:[^ ]*]] = arith.select %[[FITS]], %[[OS]], %[[O]] : tensor<128x16xf32, #m_e>
  // CHECK: scf.yield %[[NEXT]]
  tile.kernel @either grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
    %m = tile.index %i : tensor<128xindex, #m>
    %dd = tile.index %c0 : tensor<16xindex, #d>
    %ee = tile.index %c0 : tensor<16xindex, #e>
    %q = tile.load %Q[%m, %dd] : tensor<?x16xbf16>, (tensor<128xindex, #m>, tensor<16xindex, #d>) -> tensor<128x16xbf16, #md>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %none) -> (tensor<128x16xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %odd = arith.cmpi sgt, %n0, %i : index
      %fits = arith.cmpi slt, %n0, %M : index
      %from = arith.select %odd, %c16, %c0 : index
      tile.sees 48 from %from of 32 if %fits
      %k = tile.load %K[%n, %dd] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #d>) -> tensor<64x16xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x16xbf16, #md>, tensor<64x16xbf16, #nd> -> tensor<128x64xf32, #mn>
      %c = tile.load %C[%n] : tensor<?xf32>, (tensor<64xindex, #n>) -> tensor<64xf32, #n>
      %x = scf.if %odd -> (tensor<128x64xf32, #mn>) {
        %cs = tile.broadcast %c : tensor<64xf32, #n> to tensor<128x64xf32, #mn>
        %y = arith.addf %s, %cs : tensor<128x64xf32, #mn>
        scf.yield %y : tensor<128x64xf32, #mn>
      } else {
        scf.yield %s : tensor<128x64xf32, #mn>
      }
      %v = tile.load %V[%n, %ee] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #e>) -> tensor<64x16xbf16, #ne>
      %o = tile.dot %x, %v acc %acc over ["n"] product bf16 : tensor<128x64xf32, #mn>, tensor<64x16xbf16, #ne> acc tensor<128x16xf32, #me> -> tensor<128x16xf32, #me>
      scf.yield %o : tensor<128x16xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %O[%m, %ee] : tensor<128x16xf32, #me>, tensor<?x16xf32>, (tensor<128xindex, #m>, tensor<16xindex, #e>)
  }
  // The narrow way is for blocks that take the short side of a branch around a mask that rarely hides anything, as far as
  // that is known before; of another branch, such as that around a mask that repeats, it has both.
  // CHECK-LABEL: tile.kernel @shortcuts
  // CHECK: scf.for %[[N0:[^ ]*]] =
  // CHECK: %[[SHORT:[^ ]*]] = arith.cmpi sle, %[[N0]], %c16
  // CHECK: %[[FITS:[^ ]*]] = arith.andi %{{[^ ]*}}, %[[SHORT]] : i1
  // CHECK-NEXT: tile.either %[[FITS]]
  // CHECK: %[[WHOLE:[^ ]*]] = tile.dot {{.*}} -> tensor<128x64xf32, #m_n>
  // CHECK: %[[PART:[^ ]*]] = tile.dot {{.*}} -> tensor<128x48xf32, #m_n_seen>
  // CHECK: %[[X:[^ ]*]] = scf.if %{{.*}} -> (tensor<128x64xf32, #m_n>) {
  // CHECK-NEXT: scf.yield %[[WHOLE]]
  // CHECK: arith.select {{.*}} tensor<128x64xf32, #m_n>
  // CHECK: } {tile.shortcut}
  // CHECK: scf.if %{{.*}} -> (tensor<128x64xf32, #m_n>) {
  // CHECK-NEXT: scf.yield %[[X]]
  // CHECK: attn.floormod
  // CHECK: scf.if %{{.*}} -> (tensor<128x48xf32, #m_n_seen>) {
  // CHECK-NEXT: scf.yield %[[PART]]
  // CHECK: attn.floormod {{.*}} tensor<48xindex, #n_seen>
  // CHECK: arith.select %{{[^ ]*}}, %[[PART]], %{{.*}} tensor<128x48xf32, #m_n_seen>
  // CHECK-NOT: scf.if
  // CHECK: scf.yield
  tile.kernel @shortcuts grid(%i < %M) attributes {tile.warps = #tile.warps<rows = "m", split_rows = 4>} {
    %m = tile.index %i : tensor<128xindex, #m>
    %dd = tile.index %c0 : tensor<16xindex, #d>
    %ee = tile.index %c0 : tensor<16xindex, #e>
    %q = tile.load %Q[%m, %dd] : tensor<?x16xbf16>, (tensor<128xindex, #m>, tensor<16xindex, #d>) -> tensor<128x16xbf16, #md>
    %r = scf.for %n0 = %c0 to %N step %c64 iter_args(%acc = %none) -> (tensor<128x16xf32, #me>) {
      %n = tile.index %n0 : tensor<64xindex, #n>
      %fits = arith.cmpi slt, %n0, %M : index
      tile.sees 48 from %c16 of 32 if %fits
      %k = tile.load %K[%n, %dd] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #d>) -> tensor<64x16xbf16, #nd>
      %s = tile.dot %q, %k over ["d"] product bf16 : tensor<128x16xbf16, #md>, tensor<64x16xbf16, #nd> -> tensor<128x64xf32, #mn>
      %short = arith.cmpi sle, %n0, %c16 : index
      %x = scf.if %short -> (tensor<128x64xf32, #mn>) {
        scf.yield %s : tensor<128x64xf32, #mn>
      } else {
        %ms = tile.broadcast %m : tensor<128xindex, #m> to tensor<128x64xindex, #mn>
        %ns = tile.broadcast %n : tensor<64xindex, #n> to tensor<128x64xindex, #mn>
        %near = arith.cmpi sle, %ns, %ms : tensor<128x64xindex, #mn>
        %y = arith.select %near, %s, %hidden : tensor<128x64xi1, #mn>, tensor<128x64xf32, #mn>
        scf.yield %y : tensor<128x64xf32, #mn>
      } {tile.shortcut}
      %all = arith.cmpi sgt, %n0, %c64 : index
      %z = scf.if %all -> (tensor<128x64xf32, #mn>) {
        scf.yield %x : tensor<128x64xf32, #mn>
      } else {
        %w = tile.broadcast %N : index to tensor<64xindex, #n>
        %rest = attn.floormod %n, %w : tensor<64xindex, #n>
        %ms = tile.broadcast %m : tensor<128xindex, #m> to tensor<128x64xindex, #mn>
        %rs = tile.broadcast %rest : tensor<64xindex, #n> to tensor<128x64xindex, #mn>
        %near = arith.cmpi sle, %rs, %ms : tensor<128x64xindex, #mn>
        %y = arith.select %near, %x, %hidden : tensor<128x64xi1, #mn>, tensor<128x64xf32, #mn>
        scf.yield %y : tensor<128x64xf32, #mn>
      }
      %v = tile.load %V[%n, %ee] : tensor<?x16xbf16>, (tensor<64xindex, #n>, tensor<16xindex, #e>) -> tensor<64x16xbf16, #ne>
      %o = tile.dot %z, %v acc %acc over ["n"] product bf16 : tensor<128x64xf32, #mn>, tensor<64x16xbf16, #ne> acc tensor<128x16xf32, #me> -> tensor<128x16xf32, #me>
      scf.yield %o : tensor<128x16xf32, #me>
    } {tile.axis = "n"}
    tile.store %r, %O[%m, %ee] : tensor<128x16xf32, #me>, tensor<?x16xf32>, (tensor<128xindex, #m>, tensor<16xindex, #e>)
  }
}
