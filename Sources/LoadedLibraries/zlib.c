#include "loaded_libraries.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

/* zlib's z_stream. The function inflateInit2_ checks the layout by its size. */
typedef struct {
  const unsigned char *next_in;
  unsigned int avail_in;
  unsigned long total_in;
  unsigned char *next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *(*allocate)(void *, unsigned int, unsigned int);
  void (*release)(void *, void *);
  void *context;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} zlib_stream;

struct pk_inflater {
  zlib_stream stream;
};

static struct {
  int (*init)(zlib_stream *, int, const char *, int);
  int (*inflate)(zlib_stream *, int);
  int (*reset)(zlib_stream *);
  int (*end)(zlib_stream *);
} zlib;

static bool is_loaded = false;

static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  *(void **)function = symbol;
  return symbol != NULL;
}

static void load(void) {
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  is_loaded = library && find(library, "inflateInit2_", &zlib.init) && find(library, "inflate", &zlib.inflate)
      && find(library, "inflateReset", &zlib.reset) && find(library, "inflateEnd", &zlib.end);
}

bool pk_zlib_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded;
}

pk_inflater *pk_inflater_init(void) {
  pk_inflater *inflater = calloc(1, sizeof *inflater);
  if (!inflater) return NULL;
  const int gzip_only = 15 + 16;
  if (zlib.init(&inflater->stream, gzip_only, "1", sizeof inflater->stream) == 0) return inflater;
  free(inflater);
  return NULL;
}

void pk_inflater_free(pk_inflater *inflater) {
  zlib.end(&inflater->stream);
  free(inflater);
}

bool pk_inflater_restart(pk_inflater *inflater) { return zlib.reset(&inflater->stream) == 0; }

int pk_inflate(pk_inflater *inflater, const void *input, size_t *input_count, void *output, size_t *output_count) {
  zlib_stream *stream = &inflater->stream;
  const unsigned int input_size = *input_count > UINT_MAX ? UINT_MAX : (unsigned int)*input_count;
  const unsigned int output_size = *output_count > UINT_MAX ? UINT_MAX : (unsigned int)*output_count;
  stream->next_in = input;
  stream->avail_in = input_size;
  stream->next_out = output;
  stream->avail_out = output_size;
  const int no_flush = 0, ok = 0, end = 1, no_progress = -5;
  const int code = zlib.inflate(stream, no_flush);
  *input_count = input_size - stream->avail_in;
  *output_count = output_size - stream->avail_out;
  stream->next_in = NULL;
  stream->next_out = NULL;
  if (code == end) return PK_INFLATE_ENDED;
  return code == ok || code == no_progress ? PK_INFLATE_CONTINUES : PK_INFLATE_FAILED;
}

#else

bool pk_zlib_load(void) { return false; }
pk_inflater *pk_inflater_init(void) { return NULL; }
void pk_inflater_free(pk_inflater *inflater) {}
bool pk_inflater_restart(pk_inflater *inflater) { return false; }
int pk_inflate(pk_inflater *inflater, const void *input, size_t *input_count, void *output, size_t *output_count) {
  return PK_INFLATE_FAILED;
}

#endif
