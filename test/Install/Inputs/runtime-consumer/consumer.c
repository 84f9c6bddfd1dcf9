/* Uses the installed runtime from C99. */
#include <attentile-c/runtime.h>
#include <stdio.h>

int main(void) {
  attentile_kernel *kernel = NULL;
  attentile_status status = attentile_open_file("nowhere.json", &kernel);
  printf("%s: %d, %s\n", attentile_runtime_version(), (int)status,
         attentile_error_message());
  attentile_close(kernel);
  return 0;
}
