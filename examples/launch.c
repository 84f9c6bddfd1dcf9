/* Causal attention on a GPU from C; the header that attentile makes holds the compiled kernel:
     attentile compile examples/02-causal.attn --bind D=64,E=64,T=bf16 --target=sm_90 --emit=header -o causal.h
     cc -I. -Iinclude examples/launch.c -Lbuild/release/lib -lattentile-runtime -o launch && ./launch */
#include "causal.h"
#include <stdio.h>
#include <stdlib.h>
static void must(attentile_status status) {
  if (status != ATTENTILE_SUCCESS)
    fprintf(stderr, "error: %s\n", attentile_error_message()), exit(1);
}

static attentile_tensor make(attentile_type type, int32_t rank, const int64_t *sizes, uint8_t fill) {
  attentile_tensor tensor = {NULL, type, rank, sizes, NULL /* row-major */, 0 /* the first GPU */};
  size_t bytes = type == ATTENTILE_F32 ? 4 : 2;
  for (int32_t i = 0; i < rank; ++i) bytes *= (size_t)sizes[i];
  must(attentile_allocate(0, bytes, &tensor.data)), must(attentile_fill(0, tensor.data, fill, bytes));
  return tensor;
}

int main(void) {
  const int64_t q[] = {1, 8, 512, 64}, k[] = {1, 2, 512, 64}; /* batch, heads, length, head size */
  attentile_tensor Q = make(ATTENTILE_BF16, 4, q, 0x3F), K = make(ATTENTILE_BF16, 4, k, 0x3F), V = make(ATTENTILE_BF16, 4, k, 0x3F);
  attentile_tensor O = make(ATTENTILE_BF16, 4, q, 0xFF), L = make(ATTENTILE_F32, 3, q, 0xFF), *all[] = {&Q, &K, &V, &O, &L};
  attentile_kernel *kernel;
  must(attentile_causal_open(&kernel)), must(attentile_causal_launch(kernel, &Q, &K, &V, &O, &L, NULL /* 1 / sqrt(64) */, NULL));
  uint16_t last; /* every row of V is the same, so a mean of them is too, whatever the weights */
  must(attentile_to_host(0, &last, (uint16_t *)O.data + 8 * 512 * 64 - 1, sizeof last)), attentile_close(kernel);
  for (int i = 0; i < 5; ++i) must(attentile_free(0, all[i]->data));
  return printf("O[0, 7, 511, 63]: expected 0x3f3f, got 0x%04x\n", last), last != 0x3F3F;
}
