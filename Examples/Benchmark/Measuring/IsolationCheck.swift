import Dispatch
import ProcedureKit

/// A check that bodies do not execute on the caller's actor, and that the caller returns to its actor. Tests in debug builds cannot check
/// this, because only the optimizer omits hops between actors.
enum IsolationCheck {
  struct Failed: Error, CustomStringConvertible {
    let ways: [String]

    var description: String { "a body or its caller ran on the wrong actor: \(ways.joined(separator: ", "))" }
  }

  private static let mark = DispatchSpecificKey<Bool>()

  /// Runs the check.
  ///
  /// - Throws: ``Failed`` if a body or its caller ran on the wrong actor.
  @MainActor static func pass() async throws {
    DispatchQueue.main.setSpecific(key: mark, value: true)
    let queue = ProcedureQueue("isolation")
    // The function that the body calls executes on its caller's actor.
    let body = ProcedureTask("body") { await isOnMain() }
    let withInput = ProcedureTask("body") { (_: Int) in await isOnMain() }
    var failed: [String] = []
    func note(_ way: String, _ wasOnMain: Bool) {
      if wasOnMain || DispatchQueue.getSpecific(key: mark) == nil { failed.append(way) }
    }
    for _ in 0..<3 {
      note("run", try await queue.run(body))
      note("run with input", try await queue.run(withInput, input: 1))
      note("add", try await queue.add(body).value)
      note("execute", try await body.execute())
      note("condition", try await queue.run(body.condition("true") { true }))
      note("timeout", try await queue.run(body.timeout(.seconds(60))))
      note("exclusive", try await queue.run(body.exclusive("isolation")))
      note("graph", try await queue.run(ProcedureGraph("graph") { $0.add(body) }))
      note("scope", try await withProcedureQueue { try await $0.run(body) })
    }
    guard failed.isEmpty else { throw Failed(ways: failed) }
  }

  @inline(never) private nonisolated(nonsending) static func isOnMain() async -> Bool {
    DispatchQueue.getSpecific(key: mark) ?? false
  }
}
