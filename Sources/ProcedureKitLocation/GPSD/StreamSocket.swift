#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// A connected TCP socket. The owner must close it exactly once.
  struct StreamSocket: Sendable {
    /// The reason a connection could not be made.
    struct Failure: Error, CustomStringConvertible {
      let description: String

      init(errno code: Int32) { description = String(cString: strerror(code)) }
      init(resolving code: Int32) { description = String(cString: gai_strerror(code)) }
    }

    /// The time limit for connecting to each address, in milliseconds.
    private static let patience: Int32 = 10_000

    private let descriptor: Int32

    /// Connects to the first of the host's addresses that accepts a connection.
    ///
    /// - Throws: ``Failure`` if the host has no address, or if none of its addresses accepts a connection. If no address accepts one, the
    ///   error states why the last address failed.
    init(host: String, port: UInt16) throws {
      // The system would look up only the part of the name before the NUL character.
      guard !host.utf8.contains(0) else { throw Failure(resolving: EAI_NONAME) }
      var hints = addrinfo()
      #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      #else
        hints.ai_socktype = SOCK_STREAM
      #endif
      var found: UnsafeMutablePointer<addrinfo>?
      let status = getaddrinfo(host, String(port), &hints, &found)
      guard status == 0, let first = found else { throw Failure(resolving: status) }
      defer { freeaddrinfo(first) }
      var failure = Failure(errno: EADDRNOTAVAIL)
      for address in sequence(first: first, next: \.pointee.ai_next) {
        do {
          descriptor = try Self.connect(address.pointee)
          return
        } catch let error as Failure {
          failure = error
        }
      }
      throw failure
    }

    private static func connect(_ address: addrinfo) throws -> Int32 {
      let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
      guard descriptor >= 0 else { throw Failure(errno: errno) }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      // The socket is non-blocking while it is connecting, so that the wait can be limited.
      let flags = fcntl(descriptor, F_GETFL)
      _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
      var code = connectDescriptor(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno
      if code == EINPROGRESS {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        var length = socklen_t(MemoryLayout<Int32>.size)
        if poll(&polled, 1, patience) != 1 {
          code = ETIMEDOUT
        } else if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) != 0 {
          code = errno
        }
      }
      guard code == 0 else {
        closeDescriptor(descriptor)
        throw Failure(errno: code)
      }
      _ = fcntl(descriptor, F_SETFL, flags)
      #if canImport(Darwin)
        var isOn: Int32 = 1
        _ = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
      #endif
      return descriptor
    }

    /// Waits for bytes and returns them, or returns `nil` if the connection ends.
    func receive() -> Data? {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 { return Data(bytes.prefix(count)) }
        guard count < 0, errno == EINTR else { return nil }
      }
    }

    /// Sends a few bytes, without raising a signal if the connection is closed.
    func send(_ data: Data) {
      data.withUnsafeBytes { sendBytes(descriptor, $0) }
    }

    /// Ends all reads, including a read that is blocking a thread.
    func shutDown() {
      #if canImport(Glibc)
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
      #else
        _ = shutdown(descriptor, SHUT_RDWR)
      #endif
    }

    /// Closes the socket.
    func close() { closeDescriptor(descriptor) }
  }

  // These functions are outside the type because, inside it, its methods would hide the system functions with the same names.

  private func connectDescriptor(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32
  {
    connect(descriptor, address, length)
  }

  private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

  private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
    #if canImport(Darwin)
      _ = send(descriptor, bytes.baseAddress, bytes.count, 0)
    #else
      _ = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
  }
#endif
