#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation

  /// A source of locations from gpsd, the daemon for satellite receivers on Linux and other systems.
  ///
  /// ```swift
  /// let source = GPSDaemon()
  /// for try await location in source.locations() { print(location.latitude, location.longitude) }
  /// ```
  ///
  /// The source uses version 3 of gpsd's JSON protocol over TCP. Reports that lack a fix, a position or a time are skipped. gpsd sends
  /// about one report per second for each device, including devices that are connected later.
  public struct GPSDaemon: LocationSource, Hashable {
    /// The name or the IP address of the machine on which the daemon runs.
    public var host: String
    /// The TCP port of the daemon.
    public var port: UInt16
    /// The path of the device whose locations are used, for example "/dev/ttyUSB0". If it is `nil`, the locations of all devices are used.
    public var device: String?

    /// Creates a source. It connects when ``locations()`` is called.
    ///
    /// - Parameters:
    ///   - host: The name or the IP address of the machine on which the daemon runs.
    ///   - port: The TCP port of the daemon.
    ///   - device: The path of the device; `nil` for all devices.
    public init(host: String = "127.0.0.1", port: UInt16 = 2947, device: String? = nil) {
      (self.host, self.port, self.device) = (host, port, device)
    }

    /// Connects to the daemon and returns the locations as they arrive. Cancelling the iteration closes the connection.
    ///
    /// The sequence throws a ``LocationError`` if the daemon cannot be reached, refuses a request, uses another protocol, or closes the
    /// connection. If the reader is slow, only the newest 16 locations are kept.
    public func locations() -> any AsyncSequence<Location, any Error> {
      let (stream, continuation) = AsyncThrowingStream.makeStream(
        of: Location.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(16))
      let connection = GPSDConnection(self, continuation)
      continuation.onTermination = { _ in connection.close() }
      connection.start()
      return stream
    }
  }
#endif
