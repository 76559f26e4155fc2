import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A TCP socket. The owner must close it exactly once.
struct Socket: Sendable {
  let descriptor: Int32

  /// Returns a socket that is bound to 127.0.0.1 or `[::1]`, on a port that the system chooses.
  static func bound(isListening: Bool, isIPv6: Bool = false) throws -> Socket {
    let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, Platform.stream, 0)
    guard descriptor >= 0 else { throw ServerError.latest("socket") }
    Platform.prepare(descriptor)
    let result = Socket(descriptor: descriptor)
    return try result.closingOnError { result in
      guard bindToLoopback(descriptor, isIPv6: isIPv6) == 0 else { throw ServerError.latest("bind") }
      if isListening, listen(descriptor, 256) != 0 { throw ServerError.latest("listen") }
      return result
    }
  }

  private static func bindToLoopback(_ descriptor: Int32, isIPv6: Bool) -> Int32 {
    if isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_addr = in6addr_loopback
      return withPointer(to: &address) { bind(descriptor, $0, $1) }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withPointer(to: &address) { bind(descriptor, $0, $1) }
  }

  /// Calls `body` with a pointer to an address of any kind, and with the size of the address.
  static func withPointer<Address, Result>(
    to address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    let size = socklen_t(MemoryLayout<Address>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
    }
  }

  func closingOnError<Result>(_ body: (Socket) throws -> Result) throws -> Result {
    do { return try body(self) } catch {
      close()
      throw error
    }
  }

  var port: Int {
    get throws {
      // This is large enough for both kinds of addresses, which store the port in the same position.
      var address = sockaddr_in6()
      let status = Self.withPointer(to: &address) { pointer, size in
        var length = size
        return getsockname(descriptor, pointer, &length)
      }
      guard status == 0 else { throw ServerError.latest("getsockname") }
      return Int(UInt16(bigEndian: address.sin6_port))
    }
  }

  func accept() -> Socket? {
    #if canImport(Darwin)
      let accepted = Darwin.accept(descriptor, nil, nil)
    #elseif canImport(Glibc)
      let accepted = Glibc.accept(descriptor, nil, nil)
    #else
      let accepted = Musl.accept(descriptor, nil, nil)
    #endif
    guard accepted >= 0 else { return nil }
    Platform.prepare(accepted)
    Platform.sendWithoutDelay(accepted)
    return Socket(descriptor: accepted)
  }

  /// Waits for bytes, and returns at least one.
  func receive() throws(Ending) -> Data {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &bytes, bytes.count, 0)
      if count > 0 { return Data(bytes.prefix(count)) }
      guard count < 0, errno == EINTR else { throw .left }
    }
  }

  func send(_ data: Data) throws(Ending) {
    let isSent = data.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = Platform.send(descriptor, UnsafeRawBufferPointer(rebasing: rest))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
    if !isSent { throw .left }
  }

  /// Ends all reads and writes, including those that are blocking threads.
  func shutDown() {
    _ = shutdown(descriptor, Platform.bothDirections)
  }

  /// Announces the end of the data, and waits until the client closes the connection.
  ///
  /// If a socket is closed while there are unread bytes from the client, the connection is reset, and the client may lose the response.
  func finish() {
    _ = shutdown(descriptor, Platform.writing)
    _ = wait(for: nil)
  }

  /// Makes the next call to `close` reset the connection.
  func makeCloseReset() {
    var value = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
  }

  func close() {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #elseif canImport(Glibc)
      _ = Glibc.close(descriptor)
    #else
      _ = Musl.close(descriptor)
    #endif
  }
}
