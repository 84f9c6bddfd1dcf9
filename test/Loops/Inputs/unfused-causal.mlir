// Causal attention with its logsumexp as attn-to-tile leaves it: three loops.
#m = #tile.axes<"m">
#d = #tile.axes<"d">
#n = #tile.axes<"n">
#e = #tile.axes<"e">
#md = #tile.axes<"m", "d">
#nd = #tile.axes<"n", "d">
#ne = #tile.axes<"n", "e">
#me = #tile.axes<"m", "e">
#mn = #tile.axes<"m", "n">

tile.program @causal sizes(%B, %M, %N)
    ins(%Q: f32[B, M, 8], %K: f32[B, N, 8], %V: f32[B, N, 8], %scale: f32)
    outs(%O: f32[B, M, 8], %L: f32[B, M]) {
  %positive0 = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %scale, %positive0 : f32
  attn.assume %positive, "scale > 0"
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %blocks = arith.ceildivsi %M, %c16 : index
  tile.kernel @causal_0 grid(%b < %B, %i < %blocks) {
    %m0 = arith.muli %i, %c16 : index
    %m = tile.index %m0 : tensor<16xindex, #m>
    %d = tile.index %c0 : tensor<8xindex, #d>
    %e = tile.index %c0 : tensor<8xindex, #e>
    %shift = arith.subi %N, %M : index
    %shift_m = tile.broadcast %shift : index to tensor<16xindex, #m>
    %last = arith.addi %m, %shift_m : tensor<16xindex, #m>
    %q = tile.load %Q[%b, %m, %d] : tensor<?x?x8xf32>, (index, tensor<16xindex, #m>, tensor<8xindex, #d>) -> tensor<16x8xf32, #md>
    %scale_mn = tile.broadcast %scale : f32 to tensor<16x8xf32, #mn>
    %ninf = arith.constant dense<0xFF800000> : tensor<16x8xf32, #mn>
    %ninf_m = arith.constant dense<0xFF800000> : tensor<16xf32, #m>
    %zero = arith.constant dense<0.0> : tensor<16x8xf32, #mn>
    %zero_m = arith.constant dense<0.0> : tensor<16xf32, #m>
    %one_m = arith.constant dense<1.0> : tensor<16xf32, #m>
    %zero_me = arith.constant dense<0.0> : tensor<16x8xf32, #me>
    %N_mn = tile.broadcast %N : index to tensor<16x8xindex, #mn>
    %last_mn = tile.broadcast %last : tensor<16xindex, #m> to tensor<16x8xindex, #mn>
    %step = arith.constant 8 : index
    %mx = scf.for %n0 = %c0 to %N step %step iter_args(%a = %ninf_m) -> (tensor<16xf32, #m>) {
      %n = tile.index %n0 : tensor<8xindex, #n>
      %k = tile.load %K[%b, %n, %d] : tensor<?x?x8xf32>, (index, tensor<8xindex, #n>, tensor<8xindex, #d>) -> tensor<8x8xf32, #nd>
      %s0 = tile.dot %q, %k over ["d"] product f32 : tensor<16x8xf32, #md>, tensor<8x8xf32, #nd> -> tensor<16x8xf32, #mn>
      %s1 = arith.mulf %s0, %scale_mn : tensor<16x8xf32, #mn>
      %n_mn = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
      %visible = arith.cmpi sle, %n_mn, %last_mn : tensor<16x8xindex, #mn>
      %s = arith.select %visible, %s1, %ninf : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %in = arith.cmpi slt, %n_mn, %N_mn : tensor<16x8xindex, #mn>
      %x = arith.select %in, %s, %ninf : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %t = tile.reduce ref %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %next = arith.maxnumf %a, %t : tensor<16xf32, #m>
      scf.yield %next : tensor<16xf32, #m>
    } {tile.axis = "n"}
    %r = tile.ref %mx : tensor<16xf32, #m>
    %r_mn = tile.broadcast %r : tensor<16xf32, #m> to tensor<16x8xf32, #mn>
    %l = scf.for %n0 = %c0 to %N step %step iter_args(%a = %zero_m) -> (tensor<16xf32, #m>) {
      %n = tile.index %n0 : tensor<8xindex, #n>
      %k = tile.load %K[%b, %n, %d] : tensor<?x?x8xf32>, (index, tensor<8xindex, #n>, tensor<8xindex, #d>) -> tensor<8x8xf32, #nd>
      %s0 = tile.dot %q, %k over ["d"] product f32 : tensor<16x8xf32, #md>, tensor<8x8xf32, #nd> -> tensor<16x8xf32, #mn>
      %s1 = arith.mulf %s0, %scale_mn : tensor<16x8xf32, #mn>
      %n_mn = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
      %visible = arith.cmpi sle, %n_mn, %last_mn : tensor<16x8xindex, #mn>
      %s = arith.select %visible, %s1, %ninf : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %y = arith.subf %s, %r_mn : tensor<16x8xf32, #mn>
      %p = math.exp %y : tensor<16x8xf32, #mn>
      %in = arith.cmpi slt, %n_mn, %N_mn : tensor<16x8xindex, #mn>
      %x = arith.select %in, %p, %zero : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %t = tile.reduce sum %x over ["n"] : tensor<16x8xf32, #mn> -> tensor<16xf32, #m>
      %next = arith.addf %a, %t : tensor<16xf32, #m>
      scf.yield %next : tensor<16xf32, #m>
    } {tile.axis = "n"}
    %none = arith.cmpf oeq, %l, %zero_m : tensor<16xf32, #m>
    %inv0 = arith.divf %one_m, %l : tensor<16xf32, #m>
    %inv = arith.select %none, %zero_m, %inv0 : tensor<16xi1, #m>, tensor<16xf32, #m>
    %inv_mn = tile.broadcast %inv : tensor<16xf32, #m> to tensor<16x8xf32, #mn>
    %o = scf.for %n0 = %c0 to %N step %step iter_args(%a = %zero_me) -> (tensor<16x8xf32, #me>) {
      %n = tile.index %n0 : tensor<8xindex, #n>
      %k = tile.load %K[%b, %n, %d] : tensor<?x?x8xf32>, (index, tensor<8xindex, #n>, tensor<8xindex, #d>) -> tensor<8x8xf32, #nd>
      %v = tile.load %V[%b, %n, %e] : tensor<?x?x8xf32>, (index, tensor<8xindex, #n>, tensor<8xindex, #e>) -> tensor<8x8xf32, #ne>
      %s0 = tile.dot %q, %k over ["d"] product f32 : tensor<16x8xf32, #md>, tensor<8x8xf32, #nd> -> tensor<16x8xf32, #mn>
      %s1 = arith.mulf %s0, %scale_mn : tensor<16x8xf32, #mn>
      %n_mn = tile.broadcast %n : tensor<8xindex, #n> to tensor<16x8xindex, #mn>
      %visible = arith.cmpi sle, %n_mn, %last_mn : tensor<16x8xindex, #mn>
      %s = arith.select %visible, %s1, %ninf : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %y = arith.subf %s, %r_mn : tensor<16x8xf32, #mn>
      %u = math.exp %y : tensor<16x8xf32, #mn>
      %p = arith.mulf %u, %inv_mn : tensor<16x8xf32, #mn>
      %in = arith.cmpi slt, %n_mn, %N_mn : tensor<16x8xindex, #mn>
      %x = arith.select %in, %p, %zero : tensor<16x8xi1, #mn>, tensor<16x8xf32, #mn>
      %next = tile.dot %x, %v acc %a over ["n"] product f32 : tensor<16x8xf32, #mn>, tensor<8x8xf32, #ne> acc tensor<16x8xf32, #me> -> tensor<16x8xf32, #me>
      scf.yield %next : tensor<16x8xf32, #me>
    } {tile.axis = "n"}
    %log = math.log %l : tensor<16xf32, #m>
    %lse = arith.addf %r, %log : tensor<16xf32, #m>
    tile.store %o, %O[%b, %m, %e] : tensor<16x8xf32, #me>, tensor<?x?x8xf32>, (index, tensor<16xindex, #m>, tensor<8xindex, #e>)
    tile.store %lse, %L[%b, %m] : tensor<16xf32, #m>, tensor<?x?xf32>, (index, tensor<16xindex, #m>)
  }
}
