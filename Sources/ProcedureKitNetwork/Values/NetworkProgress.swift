/// How much of a request and its response was transferred so far.
public struct NetworkProgress: Sendable, Hashable {
  /// How many bytes of the request's body were sent.
  public var bytesSent: Int64 = 0
  /// How many bytes of the request's body there are, if the procedure uploads and the length is known.
  public var bytesToSend: Int64?
  /// How many bytes of the response's body were received, decompressed, and with those of a resumed file.
  public var bytesReceived: Int64 = 0
  /// How many bytes the response's body has, if the server says so.
  public var bytesToReceive: Int64?

  /// Creates a progress.
  public init(
    bytesSent: Int64 = 0, bytesToSend: Int64? = nil, bytesReceived: Int64 = 0, bytesToReceive: Int64? = nil
  ) {
    self.bytesSent = bytesSent
    self.bytesToSend = bytesToSend
    self.bytesReceived = bytesReceived
    self.bytesToReceive = bytesToReceive
  }

  /// The received part of the response's body, from 0 to 1; `nil` if the length is not known.
  public var fractionReceived: Double? {
    guard let bytesToReceive else { return nil }
    return bytesToReceive > 0 ? min(1, Double(bytesReceived) / Double(bytesToReceive)) : 1
  }
}
