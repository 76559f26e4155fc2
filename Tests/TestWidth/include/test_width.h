#ifndef TEST_WIDTH_H
#define TEST_WIDTH_H

/// The number of tests that run at a time, for each core. It is more than one, because some tests wait for processes or connections.
enum { test_width_per_core = 4 };

#endif
