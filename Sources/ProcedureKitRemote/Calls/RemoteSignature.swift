internal import ProcedureKit
internal import ProcedureKitFoundation

/// The name and the version of a procedure, together with the way in which its input, value, and errors are encoded. A client and a worker
/// must agree on all of these.
///
/// Declare the signature once, in code that both the client and the worker use:
///
/// ```swift
/// extension RemoteSignature where Input == ResizeJob, Output == Picture {
///   static var resize: Self { RemoteSignature("resize", version: 2, errors: [ResizeError.self]) }
/// }
/// ```
public struct RemoteSignature<Input: Sendable, Output: Sendable>: Sendable {
  /// The name and the version.
  public let name: RemoteName

  private let errors: [RemoteErrorType]
  private let input: RemoteValue<Input>
  private let output: RemoteValue<Output>

  private init(
    _ name: RemoteName, _ input: RemoteValue<Input>, _ output: RemoteValue<Output>,
    _ errors: [any (Error & Codable).Type]
  ) {
    (self.name, self.input, self.output) = (name, input, output)
    self.errors = errors.map { type in RemoteErrorType(type) }
    require(
      Set(self.errors.map { ByteText($0.name) }).count == errors.count,
      "RemoteSignature \"\(name)\": two of the error types have the same name: \(self.errors.map(\.name))")
  }

  /// Creates a signature for a procedure with an input and a value.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - version: The version of the procedure.
  ///   - errors: The types of errors that are transported with their contents. Passing two types that have the same name, for example from
  ///     different modules, traps.
  public init(_ name: String, version: Int = 1, errors: [any (Error & Codable).Type] = [])
  where Input: Codable, Output: Codable {
    self.init(RemoteName(name, version: version), .coded(), .coded(), errors)
  }

  /// Creates a signature for a procedure without an input; see ``init(_:version:errors:)``.
  public init(_ name: String, version: Int = 1, errors: [any (Error & Codable).Type] = [])
  where Input == Void, Output: Codable {
    self.init(RemoteName(name, version: version), .void, .coded(), errors)
  }

  /// Creates a signature for a procedure without a value; see ``init(_:version:errors:)``.
  public init(_ name: String, version: Int = 1, errors: [any (Error & Codable).Type] = [])
  where Input: Codable, Output == Void {
    self.init(RemoteName(name, version: version), .coded(), .void, errors)
  }

  /// Creates a signature for a procedure with neither an input nor a value; see ``init(_:version:errors:)``.
  public init(_ name: String, version: Int = 1, errors: [any (Error & Codable).Type] = [])
  where Input == Void, Output == Void {
    self.init(RemoteName(name, version: version), .void, .void, errors)
  }
}

// MARK: Values and errors as bytes

extension RemoteSignature {
  func encode(_ input: Input, with coder: any ProcedureCoder) throws -> [UInt8] {
    try coding("the input could not be encoded") { try self.input.encode(input, coder) }
  }

  func decode(input bytes: [UInt8], with coder: any ProcedureCoder) throws -> Input {
    try coding("the worker could not decode the input") { try input.decode(bytes, coder) }
  }

  func encode(_ output: Output, with coder: any ProcedureCoder) throws -> [UInt8] {
    try coding("the value could not be encoded") { try self.output.encode(output, coder) }
  }

  func decode(output bytes: [UInt8], with coder: any ProcedureCoder) throws -> Output {
    try coding("the value could not be decoded") { try output.decode(bytes, coder) }
  }

  private func coding<Value>(_ failing: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw RemoteError.codingFailed(name, failing, error) }
  }

  /// Converts an error to the form in which it is transported.
  func failure(_ error: any Error, with coder: any ProcedureCoder) -> RemoteFailure {
    if let failure = error as? RemoteFailure { return failure }
    var travelling = error
    if let error = error as? ProcedureError {
      travelling = RemoteProcedureError(error, underlying: error.underlying.map { failure($0, with: coder) })
    } else if error is CancellationError {
      travelling = RemoteCancellation()
    }
    for type in errors + RemoteErrorType.ofLibrary {
      // If the error cannot be encoded, only the name of its type and its description are transported.
      guard let contents = try? type.encode(travelling, coder) else { continue }
      return RemoteFailure(type: type.name, message: "\(error)", contents: contents)
    }
    return RemoteFailure(type: "\(Swift.type(of: error))", message: "\(error)")
  }

  /// Returns the error that a failure represents. If the error's type is unknown, or the contents cannot be decoded, returns the failure
  /// itself.
  func error(_ failure: RemoteFailure, of run: ProcedureIdentity, with coder: any ProcedureCoder) -> any Error {
    guard let type = (errors + RemoteErrorType.ofLibrary).first(where: { $0.name.hasBytes(of: failure.type) }),
      let error = try? type.decode(failure.contents, coder)
    else { return failure }
    if let error = error as? RemoteProcedureError {
      return error.error(of: run) { self.error($0, of: run, with: coder) } ?? failure
    }
    return error is RemoteCancellation ? CancellationError() : error
  }
}

/// The functions that encode and decode values of one type.
private struct RemoteValue<Value: Sendable>: Sendable {
  let encode: @Sendable (Value, any ProcedureCoder) throws -> [UInt8]
  let decode: @Sendable ([UInt8], any ProcedureCoder) throws -> Value

  static func coded() -> RemoteValue where Value: Codable {
    RemoteValue {
      try $1.encode($0)
    } decode: {
      try $1.decode(Value.self, from: $0)
    }
  }
}

extension RemoteValue<Void> {
  static var void: RemoteValue {
    RemoteValue { _, _ in
      []
    } decode: { _, _ in
    }
  }
}
