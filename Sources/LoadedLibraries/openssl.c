#if defined(__linux__)

#include "openssl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* OpenSSL's types SSL_CTX, SSL, SSL_CIPHER and BIO. A BIO is what a connection reads from. */
typedef struct ssl_context ssl_context;
typedef struct ssl_connection ssl_connection;
typedef struct ssl_cipher ssl_cipher;
typedef struct ssl_source ssl_source;
typedef void (*info_callback)(const ssl_connection *, int, int);
typedef int (*security_callback)(const ssl_connection *, const ssl_context *, int, int, int, void *, void *);
typedef long (*source_callback)(ssl_source *, int, const char *, size_t, int, long, int, size_t *);

/* All of these functions have existed since OpenSSL 1.1.1. */
static struct {
  void (*set_info_callback)(ssl_context *, info_callback);
  void (*set_security_callback)(ssl_context *, security_callback);
  security_callback (*security_callback)(const ssl_context *);
  void (*set_security_argument)(ssl_context *, void *);
  int (*key_exchange)(const ssl_cipher *);
  ssl_source *(*source)(const ssl_connection *);
  void (*set_callback)(ssl_source *, source_callback);
  void (*set_argument)(ssl_source *, char *);
  char *(*argument)(const ssl_source *);
  void (*set_flags)(ssl_source *, int);
} openssl;

/* A read is charged its size plus a fixed price, because many small reads also take time. */
enum { budget = 128 << 10, price_of_read = 512, turn_size = 1 << 20 };

/* A multiple of `turn_size`. A source's argument, which is otherwise unused, is the sum of its last turn and the charge in that turn. */
static _Thread_local uintptr_t turn;

static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  *(void **)function = symbol;
  return symbol != NULL;
}

bool pk_openssl_find(void *library) {
  return find(library, "SSL_CTX_set_info_callback", &openssl.set_info_callback)
      && find(library, "SSL_CTX_set_security_callback", &openssl.set_security_callback)
      && find(library, "SSL_CTX_get_security_callback", &openssl.security_callback)
      && find(library, "SSL_CTX_set0_security_ex_data", &openssl.set_security_argument)
      && find(library, "SSL_CIPHER_get_kx_nid", &openssl.key_exchange)
      && find(library, "SSL_get_rbio", &openssl.source) && find(library, "BIO_set_callback_ex", &openssl.set_callback)
      && find(library, "BIO_set_callback_arg", &openssl.set_argument)
      && find(library, "BIO_get_callback_arg", &openssl.argument) && find(library, "BIO_set_flags", &openssl.set_flags);
}

void pk_openssl_begin_turn(void) { turn += turn_size; }

/* Called before and after each operation of a source. */
static long charge_read(
    ssl_source *source, int operation, const char *bytes, size_t size, int integer, long number, int result,
    size_t *processed) {
  (void)bytes, (void)integer, (void)number, (void)processed;
  const int before_read = 2, try_reading_later = 1 | 8;
  if (operation != before_read) return result;
  uintptr_t charged = (uintptr_t)openssl.argument(source) - turn;
  /* The last read was in another turn. */
  if (charged >= turn_size) charged = 0;
  if (charged >= budget) {
    openssl.set_flags(source, try_reading_later);
    return -1;
  }
  openssl.set_argument(source, (char *)(turn + charged + price_of_read + (size < budget ? size : budget)));
  return result;
}

static void connection_changed(const ssl_connection *connection, int event, int value) {
  (void)value;
  const int handshake_starts = 0x10;
  ssl_source *source = event & handshake_starts ? openssl.source(connection) : NULL;
  if (source) openssl.set_callback(source, charge_read);
}

/* Called for each security decision that OpenSSL makes, such as whether to offer a cipher. Returns whether OpenSSL may proceed. `argument`
   is OpenSSL's own callback. */
static int permits(
    const ssl_connection *connection, const ssl_context *context, int operation, int bits, int identifier, void *object,
    void *argument) {
  const int ciphers = 1, diffie_hellman = 1039;
  if (operation >> 16 == ciphers && openssl.key_exchange(object) == diffie_hellman) return 0;
  return ((security_callback)argument)(connection, context, operation, bits, identifier, object, NULL);
}

int pk_openssl_limit(void *transfer, void *context, void *user_data) {
  (void)transfer, (void)user_data;
  openssl.set_info_callback(context, connection_changed);
  security_callback callback = openssl.security_callback(context);
  if (callback == permits) return 0;
  openssl.set_security_argument(context, (void *)callback);
  openssl.set_security_callback(context, permits);
  return 0;
}

#endif
