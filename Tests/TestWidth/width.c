#include "test_width.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Swift Testing starts all tests at once unless this variable limits their number. With 1,500 tests at once, the time limit of a test would be a limit
// on the load of all of them. With a limit on their number, the time limit of a test begins when it is its turn.
//
// There is no better place: a manifest cannot set a variable, and Swift Testing reads it before it runs the first line of a test.
__attribute__((constructor)) static void limitTestWidth(void) {
  char width[16];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  snprintf(width, sizeof width, "%ld", test_width_per_core * (cores > 0 ? cores : 1));
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}
