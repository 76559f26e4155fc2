#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 libcurl and zlib, which are loaded at run time with dlopen. Building needs no headers, and nothing is linked. The numbers of options, codes and
 flags are part of the binary interface of libcurl.so.4, which does not change. On systems other than Linux, the libraries are never loaded.
 */

/* MARK: libcurl */

/* A transfer (CURL *), a set of transfers (CURLM *), and a list of header fields (struct curl_slist *). */
typedef struct pk_curl_easy pk_curl_easy;
typedef struct pk_curl_multi pk_curl_multi;
typedef struct pk_curl_list pk_curl_list;

/* Loads libcurl on the first call, on any thread. Returns false if libcurl is missing, is older than 7.68.0, or resolves names on the calling
   thread. In that case, no other function in this section may be called. */
bool pk_curl_load(void);

/* The version of libcurl as a number, such as 0x075801 for 7.88.1, and as text. */
uint32_t pk_curl_version_number(void);
const char *pk_curl_version(void);

/* Receives `count` bytes of a head or a body. Returns `count`, or PK_CURL_WRITE_PAUSE. Any other number ends the transfer. */
typedef size_t (*pk_curl_write)(const char *bytes, size_t count, void *context);
/* Fills in up to `capacity` bytes of a body to send. Returns their number (0 at the end), PK_CURL_READ_PAUSE or PK_CURL_READ_ABORT. */
typedef size_t (*pk_curl_read)(char *bytes, size_t capacity, void *context);
/* Rewinds to the start of the body. Returns false if that is not possible. */
typedef bool (*pk_curl_rewind)(void *context);
/* Called whenever libcurl has used a connection, which includes reading each byte of a proxy's response to CONNECT. Returns whether the
   transfer continues. */
typedef bool (*pk_curl_progress)(void *context);

static const size_t PK_CURL_WRITE_PAUSE = 0x10000001;
static const size_t PK_CURL_READ_PAUSE = 0x10000001;
static const size_t PK_CURL_READ_ABORT = 0x10000000;

/* The callbacks of a transfer, and their common context. If a callback is null, libcurl uses its own. */
typedef struct {
  void *context;
  pk_curl_write header;
  pk_curl_write body;
  pk_curl_read read;
  pk_curl_rewind rewind;
  pk_curl_progress progress;
} pk_curl_callbacks;

/* The latest sockets that libcurl created for a transfer. There can be several, because it tries the addresses of a host concurrently. */
enum { PK_CURL_SOCKET_COUNT = 8 };
typedef struct {
  int latest[PK_CURL_SOCKET_COUNT];
  unsigned int count;
} pk_curl_sockets;

/* Creates a transfer that uses no signals. Returns null if there is not enough memory. Programs that this process starts do not inherit the
   sockets of the transfer, unless another thread starts a program between the calls that create a socket and mark it. The other descriptors
   that libcurl opens, such as those that wake a set or belong to a name lookup, are not marked. */
pk_curl_easy *pk_curl_easy_init(void);
void pk_curl_easy_cleanup(pk_curl_easy *easy);
/* Resets a transfer that does not belong to a set. */
void pk_curl_easy_reset(pk_curl_easy *easy);
/* Records the sockets that are created after this call. `sockets` must stay in place until the transfer is cleaned up. */
int pk_curl_watch_sockets(pk_curl_easy *easy, pk_curl_sockets *sockets);
/* Returns true if the peer has closed the connection of a transfer and everything that it sent has been read. Returns false if not, or
   if this is unknown. */
bool pk_curl_is_closed(pk_curl_easy *easy, const pk_curl_sockets *sockets);
/* Sets the callbacks. libcurl keeps the pointer, so `callbacks` must stay in place until the transfer is cleaned up. */
int pk_curl_set_callbacks(pk_curl_easy *easy, const pk_curl_callbacks *callbacks);
int pk_curl_set_long(pk_curl_easy *easy, int option, long value);
int pk_curl_set_offset(pk_curl_easy *easy, int option, int64_t value);
/* Sets an option to a copy of the text. Null unsets the option. */
int pk_curl_set_text(pk_curl_easy *easy, int option, const char *text);
/* Makes the transfer send a copy of these bytes with POST. */
int pk_curl_set_post(pk_curl_easy *easy, const void *bytes, int64_t count);
/* Sets an option to a list, which libcurl does not copy. */
int pk_curl_set_list(pk_curl_easy *easy, int option, pk_curl_list *list);
int pk_curl_get_long(pk_curl_easy *easy, int information, long *value);
/* Sets which directions are paused. `directions` is a sum of PK_CURL_PAUSE_RECEIVE and PK_CURL_PAUSE_SEND. */
int pk_curl_pause(pk_curl_easy *easy, int directions);
const char *pk_curl_error_text(int code);

/* Adds a copy of a line to a list, and returns the list. If `list` is null, creates a list. Returns null if there is not enough memory, in
   which case the previous list is unchanged. */
pk_curl_list *pk_curl_list_append(pk_curl_list *list, const char *line);
void pk_curl_list_free(pk_curl_list *list);

pk_curl_multi *pk_curl_multi_init(void);
int pk_curl_multi_cleanup(pk_curl_multi *multi);
int pk_curl_multi_set_long(pk_curl_multi *multi, int option, long value);
int pk_curl_multi_add(pk_curl_multi *multi, pk_curl_easy *easy);
int pk_curl_multi_remove(pk_curl_multi *multi, pk_curl_easy *easy);
int pk_curl_multi_perform(pk_curl_multi *multi);
/* Waits until a transfer can continue, the set is woken, or the time has passed. */
int pk_curl_multi_poll(pk_curl_multi *multi, int milliseconds);
/* Ends the current wait of another thread, or its next one. This is the only function of a set that any thread may call. */
int pk_curl_multi_wakeup(pk_curl_multi *multi);
/* Removes and returns the next transfer that has ended; null if there is none. */
pk_curl_easy *pk_curl_multi_next_ended(pk_curl_multi *multi, int *code);

/* Blocks the signals on this thread that other threads can handle, and SIGPIPE, which TLS libraries raise. */
void pk_block_signals(void);

static const int PK_CURL_PAUSE_RECEIVE = 1;
static const int PK_CURL_PAUSE_SEND = 4;

/* The options of a transfer whose values have the type long. */
static const int CURLOPT_NOPROGRESS = 43;
static const int CURLOPT_NOBODY = 44;
static const int CURLOPT_UPLOAD = 46;
static const int CURLOPT_POST = 47;
static const int CURLOPT_FOLLOWLOCATION = 52;
static const int CURLOPT_SSL_VERIFYPEER = 64;
static const int CURLOPT_FRESH_CONNECT = 74;
static const int CURLOPT_FORBID_REUSE = 75;
static const int CURLOPT_HTTPGET = 80;
static const int CURLOPT_SSL_VERIFYHOST = 81;
static const int CURLOPT_HTTP_VERSION = 84;
static const int CURLOPT_BUFFERSIZE = 98;
static const int CURLOPT_NOSIGNAL = 99;
static const int CURLOPT_TIMEOUT_MS = 155;
static const int CURLOPT_CONNECTTIMEOUT_MS = 156;
static const int CURLOPT_PROTOCOLS = 181;
static const int CURLOPT_SUPPRESS_CONNECT_HEADERS = 265;
static const int CURLOPT_UPLOAD_BUFFERSIZE = 280;
static const int CURLOPT_HTTP09_ALLOWED = 285;
static const int CURLOPT_QUICK_EXIT = 322;
/* The options of a transfer whose values are text. */
static const int CURLOPT_URL = 10002;
static const int CURLOPT_PROXY = 10004;
static const int CURLOPT_CUSTOMREQUEST = 10036;
static const int CURLOPT_CAINFO = 10065;
static const int CURLOPT_CAPATH = 10097;
/* The option of a transfer whose value is a list. */
static const int CURLOPT_HTTPHEADER = 10023;
/* The option of a transfer whose value is an offset. */
static const int CURLOPT_INFILESIZE_LARGE = 30115;

static const long CURL_HTTP_VERSION_1_1 = 2;
static const long CURL_HTTP_VERSION_2TLS = 4;
static const long CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE = 5;
static const long CURLPROTO_HTTP_AND_HTTPS = 3;

/* The options of a set. */
static const int CURLMOPT_PIPELINING = 3;
static const int CURLMOPT_MAXCONNECTS = 6;
static const int CURLMOPT_MAX_HOST_CONNECTIONS = 7;
static const int CURLMOPT_MAX_TOTAL_CONNECTIONS = 13;

/* Information about a transfer that has ended, as a value of the type long. */
static const int CURLINFO_RESPONSE_CODE = 0x200002;
static const int CURLINFO_NUM_CONNECTS = 0x20001a;
static const int CURLINFO_HTTP_CONNECTCODE = 0x200016;
static const int CURLINFO_HTTP_VERSION = 0x20002e;

/* The result codes that the transport distinguishes. */
static const int CURLE_OK = 0;
static const int CURLE_UNSUPPORTED_PROTOCOL = 1;
static const int CURLE_URL_MALFORMAT = 3;
static const int CURLE_COULDNT_RESOLVE_PROXY = 5;
static const int CURLE_COULDNT_RESOLVE_HOST = 6;
static const int CURLE_COULDNT_CONNECT = 7;
static const int CURLE_WEIRD_SERVER_REPLY = 8;
static const int CURLE_HTTP2 = 16;
static const int CURLE_PARTIAL_FILE = 18;
static const int CURLE_OUT_OF_MEMORY = 27;
static const int CURLE_OPERATION_TIMEDOUT = 28;
static const int CURLE_SSL_CONNECT_ERROR = 35;
static const int CURLE_GOT_NOTHING = 52;
static const int CURLE_SEND_ERROR = 55;
static const int CURLE_RECV_ERROR = 56;
static const int CURLE_SSL_CERTPROBLEM = 58;
static const int CURLE_SSL_CIPHER = 59;
static const int CURLE_PEER_FAILED_VERIFICATION = 60;
static const int CURLE_SEND_FAIL_REWIND = 65;
static const int CURLE_SSL_CACERT_BADFILE = 77;
static const int CURLE_SSL_ISSUER_ERROR = 83;
static const int CURLE_SSL_INVALIDCERTSTATUS = 91;
static const int CURLE_HTTP2_STREAM = 92;
static const int CURLE_PROXY = 97;

/* MARK: zlib */

/* A decompressor for the content coding gzip. */
typedef struct pk_inflater pk_inflater;

/* The stream continues. */
static const int PK_INFLATE_CONTINUES = 0;
/* The stream has ended with a correct checksum. There may be further input. */
static const int PK_INFLATE_ENDED = 1;
/* The input is not gzip, or there is not enough memory. */
static const int PK_INFLATE_FAILED = 2;

/* Loads zlib on the first call, on any thread. Returns false if zlib is missing. In that case, no other function in this section may be called. */
bool pk_zlib_load(void);
/* Creates a decompressor. Returns null if there is not enough memory. */
pk_inflater *pk_inflater_init(void);
void pk_inflater_free(pk_inflater *inflater);
/* Starts another stream. */
bool pk_inflater_restart(pk_inflater *inflater);
/* Decompresses input. `*input_count` and `*output_count` are the numbers of available bytes, and are set to the numbers of bytes used. Returns
   one of the constants above. */
int pk_inflate(pk_inflater *inflater, const void *input, size_t *input_count, void *output, size_t *output_count);
