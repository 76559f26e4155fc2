import Testing
import TestingProcedureKit

/// A rule of DESIGN.md, section 4, that has to hold in each way.
struct Rule: Sendable {
  /// Names the rule of the design, and what of it is looked at.
  let id: String
  let sentence: String
  var ways = Way.allCases
  /// How many bodies may execute at once on the queue of the stage.
  var width = 1
  let check: @Sendable (Stage) async throws -> Void

  /// One rule in one way.
  struct Case: Sendable, CustomTestStringConvertible {
    let rule: Rule
    let way: Way

    var testDescription: String { "L5/\(rule.id): \(rule.sentence) (\(way))" }

    /// Tries the rule, with and without a hook that is told the outcome.
    func run() async {
      guard knownDifferences.contains(KnownDifference(way: way, rule: rule.id)) else { return await attempt() }
      // What hangs is not waited for: it is known to fail.
      await withKnownIssue(isIntermittent: true) { await attempt(patience: 5_000) }
    }

    /// Tries the rule. Where the test is cancelled, as by its time limit, everything that the case waits for is made to happen.
    ///
    /// - Parameter patience: After so many yields the case is taken to hang; `nil` for never.
    private func attempt(patience: Int? = nil) async {
      for isWatched in [false, true] {
        let stage = Stage(way, width: rule.width, isWatched: isWatched)
        let check = Task { try await rule.check(stage) }
        let rescue = patience.map { patience in
          Task {
            for _ in 0..<patience where !Task.isCancelled { await Task.yield() }
            guard !Task.isCancelled else { return }
            Issue.record("hangs, \(isWatched ? "watched" : "bare")")
            check.cancel()
            await stage.clear()
          }
        }
        await withTaskCancellationHandler {
          do {
            try await check.value
          } catch {
            Issue.record(error)
          }
        } onCancel: {
          check.cancel()
          Task { await stage.clear() }
        }
        rescue?.cancel()
        await stage.clear()
      }
    }
  }
}

/// A rule that does not hold in a way.
struct KnownDifference: Hashable, Sendable {
  let way: Way
  let rule: String
}

extension [Rule] {
  /// Each of them, in each way.
  var cases: [Rule.Case] {
    flatMap { rule in rule.ways.map { Rule.Case(rule: rule, way: $0) } }
  }
}
