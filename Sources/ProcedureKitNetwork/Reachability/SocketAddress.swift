import Foundation

/// An address of a host, together with a port.
struct SocketAddress {
  enum Connection {
    case made
    case underWay(Int32)
    /// The attempt failed with this system error number.
    case failed(Int32)
  }

  private let family: Int32
  private let bytes: [UInt8]

  /// Returns the addresses of a host. The result is empty if the host was not found.
  ///
  /// If `isSearching` is `true`, a name is looked up, which blocks the thread. Otherwise, the host must be a numeric address.
  static func addresses(of host: String, _ port: UInt16, isSearching: Bool) -> [SocketAddress] {
    // The system would look up only the part of the name before the NUL character.
    guard !host.utf8.contains(0) else { return [] }
    var hints = addrinfo()
    if !isSearching { hints.ai_flags = AI_NUMERICHOST }
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = streamType
    var list: UnsafeMutablePointer<addrinfo>?
    // The host of an IPv6 URL may be enclosed in brackets.
    let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    guard getaddrinfo(name, String(port), &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    return sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap { entry in
      guard let info = entry?.pointee, let address = info.ai_addr else { return nil }
      let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
      return SocketAddress(family: info.ai_family, bytes: Array(bytes))
    }
  }

  /// Starts a connection attempt, without waiting. If the attempt is still in progress, the caller must close the socket.
  func beginConnection() -> Connection {
    let descriptor = socket(family, Self.streamType, 0)
    guard descriptor >= 0 else { return .failed(errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL, 0) | O_NONBLOCK)
    let status = bytes.withUnsafeBytes { buffer in
      buffer.withMemoryRebound(to: sockaddr.self) { connect(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
    }
    if status != 0, errno == EINPROGRESS { return .underWay(descriptor) }
    let code = errno
    close(descriptor)
    return status == 0 ? .made : .failed(code)
  }

  /// Returns the error number of a connection attempt that has ended; `nil` if the connection was established.
  static func failure(of descriptor: Int32) -> Int32? {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
    return code == 0 ? nil : code
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    private static let streamType = SOCK_STREAM
  #endif
}
