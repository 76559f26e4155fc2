/// Internal. A type of errors that travel, by its name.
struct RemoteErrorType: Sendable {
  let name: String
  /// Returns the contents of an error of this type; `nil` for any other error.
  let encode: @Sendable (any Error, any ProcedureCoder) throws -> [UInt8]?
  let decode: @Sendable ([UInt8], any ProcedureCoder) throws -> any Error

  init<Failure: Error & Codable>(_ type: Failure.Type, name: String? = nil) {
    self.name = name ?? "\(type)"
    encode = { error, coder in try (error as? Failure).map(coder.encode) }
    decode = { bytes, coder in try coder.decode(Failure.self, from: bytes) }
  }
}

/// The errors of the library, under names that no Swift type has.
extension RemoteErrorType {
  static let ofLibrary = [
    RemoteErrorType(RemoteError.self, name: "ProcedureKit.RemoteError"),
    RemoteErrorType(RemoteProcedureError.self, name: "ProcedureKit.ProcedureError"),
    RemoteErrorType(RemoteCancellation.self, name: "Swift.CancellationError"),
  ]
}

/// Internal. A `CancellationError` that travels.
struct RemoteCancellation: Error, Codable {}
