import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

/// The procedures and errors of the tests.
enum ResizeError: Error, Codable, Equatable {
  case tooLarge(Int)
}

/// An error that is in no signature.
struct UnlistedError: Error, CustomStringConvertible {
  var description: String { "not listed" }
}

extension RemoteSignature where Input == Int, Output == Int {
  static var double: Self { RemoteSignature("double", version: 2, errors: [ResizeError.self]) }
}

extension ProcedureRegistry {
  /// Returns a registry with the procedure "double", version 2.
  static func doubling(_ body: @escaping @Sendable (Int) async throws -> Int = { $0 * 2 }) -> ProcedureRegistry {
    var registry = ProcedureRegistry()
    registry.register(ProcedureTask<Int, Int>("double") { try await body($0) }, as: .double)
    return registry
  }
}

/// A procedure whose body must not be executed in this process.
let double = ProcedureTask<Int, Int>("double") { _ in fatalError("executed here instead of elsewhere") }

extension VirtualClock {
  /// Waits until a task is sleeping that wakes within `duration`, and moves the clock by `duration`.
  func pass(_ duration: Duration) async throws {
    let end = now.advanced(by: duration)
    try await eventually { nextDeadline.map { $0 <= end } ?? false }
    advance(to: end)
  }
}

/// Waits until the current task is cancelled, and throws.
func throwOnceCancelled() async throws {
  let (stream, _) = AsyncStream<Void>.makeStream()
  for await _ in stream {}
  throw CancellationError()
}
