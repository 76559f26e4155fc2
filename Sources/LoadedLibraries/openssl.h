#pragma once
#include <stdbool.h>

/*
 Limits on how long a server can occupy OpenSSL.

 Functions such as SSL_read return only after they have read application data, or when the socket has nothing more to read. A server that
 sends TLS messages without application data, as fast as they can be processed, would keep these functions from returning, and no other
 transfer on the thread would continue, time out or be cancelled. With the limit, a connection that has read a certain amount since the last
 call to pk_openssl_begin_turn behaves as if its socket had nothing more to read.

 In the key exchange DHE of TLS 1.2 and earlier, the server chooses the prime. With the longest prime that OpenSSL accepts, a handshake
 takes a second of processor time, and a server can demand handshakes repeatedly. Therefore, DHE is not offered. Browsers do not offer it,
 either. The groups of all other key exchanges are standardized, and fast enough.
 */

/* Finds OpenSSL's functions among those of a library that uses OpenSSL. Returns false if any is missing. */
bool pk_openssl_find(void *library);
/* Limits the connections that are created from a context. The function can be passed to libcurl as CURLOPT_SSL_CTX_FUNCTION. */
int pk_openssl_limit(void *transfer, void *context, void *user_data);
/* Lets the connections of this thread read again. */
void pk_openssl_begin_turn(void);
