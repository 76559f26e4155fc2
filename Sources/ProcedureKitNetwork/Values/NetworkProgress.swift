/// The amount of data that has been transferred so far for a request and its response.
public struct NetworkProgress: Sendable, Hashable {
  /// The number of bytes of the request body that have been sent so far.
  public var bytesSent: Int64 = 0
  /// The length of the request body in bytes, if the procedure is an upload and the length is known.
  public var bytesToSend: Int64?
  /// The number of bytes of the response body that have been received so far, after decompression. If a download is resumed, the bytes that
  /// it received earlier are included.
  public var bytesReceived: Int64 = 0
  /// The length of the response body in bytes, if the server specified it and the body is not compressed.
  public var bytesToReceive: Int64?

  /// Creates a progress value.
  public init(
    bytesSent: Int64 = 0, bytesToSend: Int64? = nil, bytesReceived: Int64 = 0, bytesToReceive: Int64? = nil
  ) {
    self.bytesSent = bytesSent
    self.bytesToSend = bytesToSend
    self.bytesReceived = bytesReceived
    self.bytesToReceive = bytesToReceive
  }

  /// The fraction of the response body that has been received, from 0 to 1; `nil` if the length is unknown.
  public var fractionReceived: Double? {
    guard let bytesToReceive else { return nil }
    return bytesToReceive > 0 ? min(1, Double(bytesReceived) / Double(bytesToReceive)) : 1
  }
}
