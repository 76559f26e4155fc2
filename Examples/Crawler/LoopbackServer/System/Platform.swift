import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The functions and constants that differ between systems.
enum Platform {
  #if canImport(Glibc)
    static let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    static let writing = Int32(SHUT_WR)
    static let bothDirections = Int32(SHUT_RDWR)
  #elseif canImport(Musl)
    static let stream = SOCK_STREAM | SOCK_CLOEXEC
    static let writing = SHUT_WR
    static let bothDirections = SHUT_RDWR
  #else
    static let stream = SOCK_STREAM
    static let writing = SHUT_WR
    static let bothDirections = SHUT_RDWR
  #endif

  /// Prevents programs that this process starts from inheriting a descriptor. If the descriptor is a socket, also prevents writes from
  /// raising a signal.
  static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #if canImport(Darwin)
      var isOn: Int32 = 1
      _ = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Makes a socket send each piece of a response immediately, as servers do.
  ///
  /// Otherwise, the second piece waits for the client's acknowledgement, which can take up to 40 ms.
  static func sendWithoutDelay(_ descriptor: Int32) {
    var isOn: Int32 = 1
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
  }

  static func send(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
      Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
    #elseif canImport(Musl)
      Musl.send(descriptor, buffer.baseAddress, buffer.count, MSG_NOSIGNAL)
    #else
      Darwin.send(descriptor, buffer.baseAddress, buffer.count, 0)
    #endif
  }

  /// Creates a pipe, and returns its read end and its write end.
  static func pipe() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      let status = Darwin.pipe(&ends)
    #elseif canImport(Glibc)
      let status = Glibc.pipe(&ends)
    #else
      let status = Musl.pipe(&ends)
    #endif
    precondition(status == 0, "the loopback server could not create a gate because no file descriptors are left")
    for end in ends { prepare(end) }
    return (ends[0], ends[1])
  }
}
