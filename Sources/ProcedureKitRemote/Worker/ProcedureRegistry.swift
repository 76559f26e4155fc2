public import ProcedureKit
public import ProcedureKitFoundation

/// A registry of the procedures that a worker can execute. Procedures are identified by name and version.
///
/// ```swift
/// var registry = ProcedureRegistry()
/// registry.register(ResizeImage(), as: .resize)
/// ```
public struct ProcedureRegistry: Sendable {
  private struct Entry: Sendable {
    let execute: @Sendable (RemoteCall, ProcedureQueue) async throws -> [UInt8]
    let failure: @Sendable (any Error) -> RemoteFailure
  }

  let coder: any ProcedureCoder
  private var entries: [RemoteName: Entry] = [:]

  /// Creates an empty registry.
  ///
  /// - Parameter coder: The coder for inputs, values, and errors. The clients must use the same coder.
  public init(coder: any ProcedureCoder) {
    self.coder = coder
  }

  /// The names and versions of the registered procedures, sorted.
  public var names: [RemoteName] {
    entries.keys.sorted { $0.name.hasBytes(of: $1.name) ? $0.version < $1.version : $0.name.precedes($1.name) }
  }

  /// Registers a procedure with all its modifiers. Several versions of a procedure can be registered, but registering two procedures with
  /// the same name and version traps.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to execute.
  ///   - signature: The signature under which clients call the procedure.
  public mutating func register<P: Procedure>(_ procedure: P, as signature: RemoteSignature<P.Input, P.Output>) {
    let (task, coder, name) = (procedure.procedureTask, coder, signature.name)
    let followed = task.wrapped { (input: P.Input) in
      RemoteExecution.current?.follow(ProcedureContext.requireCurrent(for: task.name).run)
      return try await task.executeAsLayer(input)
    }
    require(entries[name] == nil, "ProcedureRegistry: \"\(name)\" is registered twice")
    entries[name] = Entry { call, queue in
      let input = try signature.decode(input: call.input, with: coder)
      let output = try await queue.run(followed, input: input)
      return try signature.encode(output, with: coder)
    } failure: {
      signature.failure($0, with: coder)
    }
  }

  /// Executes a call on a queue. Cancelling the caller cancels the procedure.
  ///
  /// - Parameters:
  ///   - call: The call to execute.
  ///   - queue: The queue that executes the procedure.
  ///   - payloadLimit: The maximum size of the value, in bytes.
  /// - Returns: The encoded value, or the error.
  func execute(_ call: RemoteCall, on queue: ProcedureQueue, payloadLimit: Int) async -> Result<[UInt8], RemoteFailure>
  {
    let name = call.procedure
    guard let entry = entries[name] else { return .failure(refusal(of: name)) }
    do {
      let output = try await entry.execute(call, queue)
      guard output.count <= payloadLimit else {
        throw RemoteError.payloadTooLarge(name, "value", output.count, limit: payloadLimit)
      }
      return .success(output)
    } catch {
      return .failure(entry.failure(error).fitting(into: payloadLimit))
    }
  }

  private func refusal(of name: RemoteName) -> RemoteFailure {
    let signature = RemoteSignature<Void, Void>(name.name, version: name.version)
    let versions = names.filter { $0.name.hasBytes(of: name.name) }.map(\.version)
    guard !versions.isEmpty else {
      let known = Set(names.map { ByteText($0.name) }).sorted().map(\.text).joined(separator: ", ")
      let reason =
        "the worker has no procedure with this name (registered: \(known.isEmpty ? "none" : known)). Register the procedure"
      return signature.failure(RemoteError(.unknownProcedure, procedure: name, reason: reason), with: coder)
    }
    let known = versions.map(String.init).joined(separator: ", ")
    let reason =
      "the worker provides only other versions of the procedure: \(known). Register this version, or call a version that the worker provides"
    return signature.failure(RemoteError(.wrongVersion, procedure: name, reason: reason), with: coder)
  }
}
