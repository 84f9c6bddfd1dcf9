/* Calls the compiled causal kernel through its header, single-threaded and by
   ranges, on tensors in (batch, sequence, head, dim) order, and compares with
   the formula. Then tries what must be refused. */
#include "causal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 2, H = 4, G = 2, M = 37, N = 53, D = 64 };

static float q[B][M][H][D], k[B][N][G][D], v[B][N][G][D];
static float o[B][M][H][D], l[B][H][M], o2[B][M][H][D];

static void fill(float *x, size_t count) {
  static unsigned state = 1;
  size_t i;
  for (i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}

/* The largest difference from the formula, over outputs and logsumexp. */
static double difference(void) {
  double worst = 0;
  int b, h, m, n, d;
  for (b = 0; b < B; ++b)
    for (h = 0; h < H; ++h)
      for (m = 0; m < M; ++m) {
        double s[N], sum = 0, row[D] = {0};
        int g = h / (H / G), last = m + (N - M);
        for (n = 0; n <= last; ++n) {
          s[n] = 0;
          for (d = 0; d < D; ++d)
            s[n] += (double)q[b][m][h][d] * (double)k[b][n][g][d];
          s[n] = exp(s[n] / 8);
          sum += s[n];
        }
        for (n = 0; n <= last; ++n)
          for (d = 0; d < D; ++d)
            row[d] += s[n] / sum * (double)v[b][n][g][d];
        for (d = 0; d < D; ++d)
          worst = fmax(worst, fabs(row[d] - (double)o[b][m][h][d]));
        worst = fmax(worst, fabs(log(sum) - (double)l[b][h][m]));
      }
  return worst;
}

static void expect(const char *what, int code, const char *message) {
  if (strcmp(causal_message(code), message) != 0) {
    printf("%s: expected '%s', got '%s'\n", what, message,
           causal_message(code));
    exit(1);
  }
}

int main(void) {
  causal_in_f32_4 tq = {&q[0][0][0][0], {B, H, M, D}, {M * H * D, D, H * D, 1}};
  causal_in_f32_4 tk = {&k[0][0][0][0], {B, G, N, D}, {N * G * D, D, G * D, 1}};
  causal_in_f32_4 tv = {&v[0][0][0][0], {B, G, N, D}, {N * G * D, D, G * D, 1}};
  causal_out_f32_4 to = {
      &o[0][0][0][0], {B, H, M, D}, {M * H * D, D, H * D, 1}};
  causal_out_f32_3 tl = {&l[0][0][0], {B, H, M}, {H * M, M, 1}};
  float scale = causal_default_scale(B, H, M, G, N);
  void *scratch = malloc((size_t)causal_scratch_bytes());
  void *workspace = malloc((size_t)causal_workspace_bytes(B, H, M, G, N) + 1);
  int64_t args[CAUSAL_ARGS];
  double worst;
  int j;

  fill(&q[0][0][0][0], sizeof q / sizeof(float));
  fill(&k[0][0][0][0], sizeof k / sizeof(float));
  fill(&v[0][0][0][0], sizeof v / sizeof(float));
  expect("run", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "success");
  worst = difference();
  printf("scale %g, difference %s\n", scale, worst < 1e-5 ? "small" : "large");

  /* Ranges in any order give the same bits. */
  to.data = &o2[0][0][0][0];
  expect("prepare", causal_prepare(args, tq, tk, tv, scale, to, tl, workspace),
         "success");
  for (j = 0; j < CAUSAL_KERNELS; ++j) {
    int64_t cell = causal_cells(args, j);
    while (cell-- > 0)
      causal_range(args, j, cell, cell + 1, scratch);
  }
  printf("ranges %s\n", memcmp(o, o2, sizeof o) == 0 ? "agree" : "differ");

  expect("scale", causal(tq, tk, tv, 0.0f, to, tl, workspace, scratch),
         "constraint does not hold: scale > 0");
  tk.sizes[2] = N - 1;
  expect("size", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "expected N in dimension 2 of 'V'");
  tk.sizes[2] = N;
  tq.sizes[1] = to.sizes[1] = tl.sizes[1] = 3;
  expect("heads", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "constraint does not hold: H % G == 0");
  tq.sizes[1] = to.sizes[1] = tl.sizes[1] = H;
  tv.data = NULL;
  expect("null", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "expected a pointer to the elements of 'V', got null");
  tv.data = &v[0][0][0][0];
  to.strides[2] = 0;
  expect("stride", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "expected a stride other than 0 in dimension 2 of 'O', which is "
         "written");
  to.strides[2] = H * D;
  tq.sizes[0] = -1;
  expect("negative", causal(tq, tk, tv, scale, to, tl, workspace, scratch),
         "expected a size from 0 to 2147483647 in dimension 0 of 'Q'");
  free(scratch);
  free(workspace);
  return 0;
}
