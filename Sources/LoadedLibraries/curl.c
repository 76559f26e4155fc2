#include "loaded_libraries.h"

#if defined(__linux__)

#include "openssl.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

/* The types and functions of libcurl that this file uses. */
typedef size_t (*curl_bytes_callback)(char *, size_t, size_t, void *);
typedef int (*curl_seek_callback)(void *, int64_t, int);
typedef int (*curl_progress_callback)(void *, int64_t, int64_t, int64_t, int64_t);
typedef int (*curl_socket_callback)(void *, int, int);
typedef int (*curl_ssl_callback)(void *, void *, void *);

typedef struct {
  int age;
  const char *version;
  unsigned int version_number;
  const char *host;
  int features;
  const char *ssl_version;
} curl_version_data;

typedef struct {
  int message;
  pk_curl_easy *easy;
  union {
    void *whatever;
    int result;
  } data;
} curl_message;

static struct {
  int (*global_init)(long);
  const curl_version_data *(*version_info)(int);
  pk_curl_easy *(*easy_init)(void);
  void (*easy_cleanup)(pk_curl_easy *);
  void (*easy_reset)(pk_curl_easy *);
  int (*easy_setopt)(pk_curl_easy *, int, ...);
  int (*easy_getinfo)(pk_curl_easy *, int, ...);
  int (*easy_pause)(pk_curl_easy *, int);
  const char *(*easy_strerror)(int);
  pk_curl_list *(*slist_append)(pk_curl_list *, const char *);
  void (*slist_free_all)(pk_curl_list *);
  pk_curl_multi *(*multi_init)(void);
  int (*multi_cleanup)(pk_curl_multi *);
  int (*multi_setopt)(pk_curl_multi *, int, ...);
  int (*multi_add_handle)(pk_curl_multi *, pk_curl_easy *);
  int (*multi_remove_handle)(pk_curl_multi *, pk_curl_easy *);
  int (*multi_perform)(pk_curl_multi *, int *);
  int (*multi_poll)(pk_curl_multi *, void *, unsigned int, int, int *);
  int (*multi_wakeup)(pk_curl_multi *);
  curl_message *(*multi_info_read)(pk_curl_multi *, int *);
} curl;

static bool is_loaded = false;
static bool uses_openssl = false;
static const curl_version_data *version;

static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  *(void **)function = symbol;
  return symbol != NULL;
}

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  bool has_all = find(library, "curl_global_init", &curl.global_init) && find(library, "curl_version_info", &curl.version_info)
      && find(library, "curl_easy_init", &curl.easy_init) && find(library, "curl_easy_cleanup", &curl.easy_cleanup)
      && find(library, "curl_easy_reset", &curl.easy_reset) && find(library, "curl_easy_setopt", &curl.easy_setopt)
      && find(library, "curl_easy_getinfo", &curl.easy_getinfo)
      && find(library, "curl_easy_pause", &curl.easy_pause) && find(library, "curl_easy_strerror", &curl.easy_strerror)
      && find(library, "curl_slist_append", &curl.slist_append)
      && find(library, "curl_slist_free_all", &curl.slist_free_all) && find(library, "curl_multi_init", &curl.multi_init)
      && find(library, "curl_multi_cleanup", &curl.multi_cleanup) && find(library, "curl_multi_setopt", &curl.multi_setopt)
      && find(library, "curl_multi_add_handle", &curl.multi_add_handle)
      && find(library, "curl_multi_remove_handle", &curl.multi_remove_handle)
      && find(library, "curl_multi_perform", &curl.multi_perform) && find(library, "curl_multi_poll", &curl.multi_poll)
      /* This function has existed since 7.68.0. */
      && find(library, "curl_multi_wakeup", &curl.multi_wakeup)
      && find(library, "curl_multi_info_read", &curl.multi_info_read);
  if (!has_all) return;
  const long all_parts = 3;
  if (curl.global_init(all_parts) != CURLE_OK) return;
  /* Age 3, which libcurl has supported since version 7.16, includes all fields up to `ssl_version`. */
  version = curl.version_info(3);
  const int resolves_asynchronously = 1 << 7;
  is_loaded = version && (version->features & resolves_asynchronously);
  /* Even if libcurl uses a different TLS library, OpenSSL's functions may be found, because libcurl may depend on OpenSSL indirectly. */
  uses_openssl = is_loaded && version->ssl_version && strncmp(version->ssl_version, "OpenSSL/", 8) == 0
      && pk_openssl_find(library);
}

bool pk_curl_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded;
}

uint32_t pk_curl_version_number(void) { return version->version_number; }
const char *pk_curl_version(void) { return version->version; }

static int prepare_socket(void *context, int socket, int purpose) {
  (void)purpose;
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  pk_curl_sockets *sockets = context;
  if (sockets) sockets->latest[sockets->count++ % PK_CURL_SOCKET_COUNT] = socket;
  return 0;
}

static void set_basics(pk_curl_easy *easy) {
  const int option_sockopt_function = 20148;
  curl.easy_setopt(easy, option_sockopt_function, (curl_socket_callback)prepare_socket);
  pk_curl_set_long(easy, CURLOPT_NOSIGNAL, 1);
  const int option_ssl_context_function = 20108;
  if (uses_openssl) curl.easy_setopt(easy, option_ssl_context_function, (curl_ssl_callback)pk_openssl_limit);
}

pk_curl_easy *pk_curl_easy_init(void) {
  pk_curl_easy *easy = curl.easy_init();
  if (easy) set_basics(easy);
  return easy;
}

void pk_curl_easy_reset(pk_curl_easy *easy) {
  curl.easy_reset(easy);
  set_basics(easy);
}

void pk_curl_easy_cleanup(pk_curl_easy *easy) { curl.easy_cleanup(easy); }

int pk_curl_watch_sockets(pk_curl_easy *easy, pk_curl_sockets *sockets) {
  const int option_sockopt_data = 10149;
  return curl.easy_setopt(easy, option_sockopt_data, (void *)sockets);
}

bool pk_curl_is_closed(pk_curl_easy *easy, const pk_curl_sockets *sockets) {
  const int information_local_port = 0x20002a;
  long port = 0;
  if (curl.easy_getinfo(easy, information_local_port, &port) != CURLE_OK || port == 0) return false;
  for (unsigned i = 0; i < sockets->count && i < PK_CURL_SOCKET_COUNT; i++) {
    /* The descriptor of a socket that libcurl has closed, such as that of the slower address, may belong to another file by now. */
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(sockets->latest[i], (struct sockaddr *)&address, &length) != 0) continue;
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6) continue;
    /* Both kinds of addresses store the port in the same place. */
    if (ntohs(((struct sockaddr_in *)&address)->sin_port) != port) continue;
    char byte;
    ssize_t count = recv(sockets->latest[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }
  return false;
}

/* The number of bytes is the product of both sizes. According to libcurl's documentation, the first one is always 1. */
static size_t call_header(char *bytes, size_t size, size_t count, void *context) {
  const pk_curl_callbacks *callbacks = context;
  return callbacks->header(bytes, size * count, callbacks->context);
}

static size_t call_body(char *bytes, size_t size, size_t count, void *context) {
  const pk_curl_callbacks *callbacks = context;
  return callbacks->body(bytes, size * count, callbacks->context);
}

static size_t call_read(char *bytes, size_t size, size_t count, void *context) {
  const pk_curl_callbacks *callbacks = context;
  return callbacks->read(bytes, size * count, callbacks->context);
}

static int call_rewind(void *context, int64_t offset, int origin) {
  const pk_curl_callbacks *callbacks = context;
  const int done = 0, failed = 1;
  if (offset != 0 || origin != 0 || !callbacks->rewind) return failed;
  return callbacks->rewind(callbacks->context) ? done : failed;
}

static int call_progress(void *context, int64_t to_receive, int64_t received, int64_t to_send, int64_t sent) {
  (void)to_receive, (void)received, (void)to_send, (void)sent;
  const pk_curl_callbacks *callbacks = context;
  const int continues = 0, ends = 1;
  return callbacks->progress(callbacks->context) ? continues : ends;
}

int pk_curl_set_callbacks(pk_curl_easy *easy, const pk_curl_callbacks *callbacks) {
  const int write_data = 10001, read_data = 10009, header_data = 10029, progress_data = 10057, seek_data = 10168;
  const int write_function = 20011, read_function = 20012, header_function = 20079, seek_function = 20167;
  const int progress_function = 20219;
  int code = CURLE_OK;
  if (callbacks->header) {
    code |= curl.easy_setopt(easy, header_data, (void *)callbacks);
    code |= curl.easy_setopt(easy, header_function, (curl_bytes_callback)call_header);
  }
  if (callbacks->body) {
    code |= curl.easy_setopt(easy, write_data, (void *)callbacks);
    code |= curl.easy_setopt(easy, write_function, (curl_bytes_callback)call_body);
  }
  if (callbacks->read) {
    code |= curl.easy_setopt(easy, read_data, (void *)callbacks);
    code |= curl.easy_setopt(easy, read_function, (curl_bytes_callback)call_read);
    code |= curl.easy_setopt(easy, seek_data, (void *)callbacks);
    code |= curl.easy_setopt(easy, seek_function, (curl_seek_callback)call_rewind);
  }
  if (callbacks->progress) {
    code |= curl.easy_setopt(easy, progress_data, (void *)callbacks);
    code |= curl.easy_setopt(easy, progress_function, (curl_progress_callback)call_progress);
    code |= pk_curl_set_long(easy, CURLOPT_NOPROGRESS, 0);
  }
  return code;
}

int pk_curl_set_long(pk_curl_easy *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int pk_curl_set_offset(pk_curl_easy *easy, int option, int64_t value) { return curl.easy_setopt(easy, option, value); }
int pk_curl_set_text(pk_curl_easy *easy, int option, const char *text) { return curl.easy_setopt(easy, option, text); }

int pk_curl_set_post(pk_curl_easy *easy, const void *bytes, int64_t count) {
  const int post_field_size = 30120, copied_post_fields = 10165;
  int code = pk_curl_set_long(easy, CURLOPT_POST, 1);
  if (code == CURLE_OK) code = pk_curl_set_offset(easy, post_field_size, count);
  return code == CURLE_OK ? curl.easy_setopt(easy, copied_post_fields, count ? bytes : "") : code;
}

int pk_curl_set_list(pk_curl_easy *easy, int option, pk_curl_list *list) { return curl.easy_setopt(easy, option, list); }

int pk_curl_get_long(pk_curl_easy *easy, int information, long *value) {
  return curl.easy_getinfo(easy, information, value);
}

int pk_curl_pause(pk_curl_easy *easy, int directions) { return curl.easy_pause(easy, directions); }
const char *pk_curl_error_text(int code) { return curl.easy_strerror(code); }

pk_curl_list *pk_curl_list_append(pk_curl_list *list, const char *line) { return curl.slist_append(list, line); }
void pk_curl_list_free(pk_curl_list *list) { curl.slist_free_all(list); }

pk_curl_multi *pk_curl_multi_init(void) { return curl.multi_init(); }
int pk_curl_multi_cleanup(pk_curl_multi *multi) { return curl.multi_cleanup(multi); }

int pk_curl_multi_set_long(pk_curl_multi *multi, int option, long value) { return curl.multi_setopt(multi, option, value); }
int pk_curl_multi_add(pk_curl_multi *multi, pk_curl_easy *easy) { return curl.multi_add_handle(multi, easy); }
int pk_curl_multi_remove(pk_curl_multi *multi, pk_curl_easy *easy) { return curl.multi_remove_handle(multi, easy); }

int pk_curl_multi_perform(pk_curl_multi *multi) {
  pk_openssl_begin_turn();
  int running = 0;
  return curl.multi_perform(multi, &running);
}

int pk_curl_multi_poll(pk_curl_multi *multi, int milliseconds) {
  return curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

int pk_curl_multi_wakeup(pk_curl_multi *multi) { return curl.multi_wakeup(multi); }

pk_curl_easy *pk_curl_multi_next_ended(pk_curl_multi *multi, int *code) {
  int left = 0;
  const int done = 1;
  curl_message *message;
  while ((message = curl.multi_info_read(multi, &left))) {
    if (message->message != done) continue;
    *code = message->data.result;
    return message->easy;
  }
  return NULL;
}

void pk_block_signals(void) {
  sigset_t signals;
  sigfillset(&signals);
  /* These signals are raised by faults on this thread itself. */
  const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&signals, own[i]);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

#else

/* On these systems, the library is never loaded, so none of the other functions are called. */
bool pk_curl_load(void) { return false; }
uint32_t pk_curl_version_number(void) { return 0; }
const char *pk_curl_version(void) { return ""; }
pk_curl_easy *pk_curl_easy_init(void) { return NULL; }
void pk_curl_easy_cleanup(pk_curl_easy *easy) {}
void pk_curl_easy_reset(pk_curl_easy *easy) {}
int pk_curl_watch_sockets(pk_curl_easy *easy, pk_curl_sockets *sockets) { return -1; }
bool pk_curl_is_closed(pk_curl_easy *easy, const pk_curl_sockets *sockets) { return false; }
int pk_curl_set_callbacks(pk_curl_easy *easy, const pk_curl_callbacks *callbacks) { return -1; }
int pk_curl_set_long(pk_curl_easy *easy, int option, long value) { return -1; }
int pk_curl_set_offset(pk_curl_easy *easy, int option, int64_t value) { return -1; }
int pk_curl_set_text(pk_curl_easy *easy, int option, const char *text) { return -1; }
int pk_curl_set_post(pk_curl_easy *easy, const void *bytes, int64_t count) { return -1; }
int pk_curl_set_list(pk_curl_easy *easy, int option, pk_curl_list *list) { return -1; }
int pk_curl_get_long(pk_curl_easy *easy, int information, long *value) { return -1; }
int pk_curl_pause(pk_curl_easy *easy, int directions) { return -1; }
const char *pk_curl_error_text(int code) { return ""; }
pk_curl_list *pk_curl_list_append(pk_curl_list *list, const char *line) { return NULL; }
void pk_curl_list_free(pk_curl_list *list) {}
pk_curl_multi *pk_curl_multi_init(void) { return NULL; }
int pk_curl_multi_cleanup(pk_curl_multi *multi) { return -1; }
int pk_curl_multi_set_long(pk_curl_multi *multi, int option, long value) { return -1; }
int pk_curl_multi_add(pk_curl_multi *multi, pk_curl_easy *easy) { return -1; }
int pk_curl_multi_remove(pk_curl_multi *multi, pk_curl_easy *easy) { return -1; }
int pk_curl_multi_perform(pk_curl_multi *multi) { return -1; }
int pk_curl_multi_poll(pk_curl_multi *multi, int milliseconds) { return -1; }
int pk_curl_multi_wakeup(pk_curl_multi *multi) { return -1; }
pk_curl_easy *pk_curl_multi_next_ended(pk_curl_multi *multi, int *code) { return NULL; }
void pk_block_signals(void) {}

#endif
