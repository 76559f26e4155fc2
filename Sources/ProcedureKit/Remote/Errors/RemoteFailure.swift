/// An error of a procedure as it travels: its type by name, its description, and its contents as bytes.
///
/// A caller meets a `RemoteFailure` only if the error's type is not in the ``RemoteSignature`` of the caller, or if its contents cannot be
/// decoded.
public struct RemoteFailure: Error, Hashable, Codable, Sendable, CustomStringConvertible {
  /// The name of the error's type, without the module.
  public let type: String
  /// The description of the error on the machine where it occurred.
  public let message: String
  /// The encoded error; empty if its type is not in the signature.
  public let contents: [UInt8]

  /// Makes a failure, for an executor.
  ///
  /// - Parameters:
  ///   - type: The name of the error's type.
  ///   - message: The description of the error.
  ///   - contents: The encoded error, or empty.
  public init(type: String, message: String, contents: [UInt8] = []) {
    (self.type, self.message, self.contents) = (type, message, contents)
  }

  /// Returns the failure without its contents, and with the beginning of its message, if it would be too large to travel.
  func fitting(into limit: Int) -> RemoteFailure {
    // A byte of the contents can take four bytes as a number of a JSON array, and a character of the message six.
    guard type.utf8.count + message.utf8.count > limit / 6 || contents.count > limit / 6 else { return self }
    return RemoteFailure(type: type, message: String(message.prefix(min(limit / 48, 1_000))))
  }

  /// The type and the description of the error.
  public var description: String { "\(type): \(message)" }
}
