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
      let isKnown = knownDifferences.contains(KnownDifference(way: way, rule: rule.id))
      guard isKnown else { return await attempt(within: .seconds(300)) }
      await withKnownIssue { await attempt(within: .milliseconds(300)) }
    }

    /// - Parameter limit: After this the case is taken to hang, and all that it waits for is made to happen: nothing that does
    ///   not hang depends on it.
    private func attempt(within limit: Duration) async {
      for isWatched in [false, true] {
        let stage = Stage(way, width: rule.width, isWatched: isWatched)
        let check = Task { try await rule.check(stage) }
        let rescue = Task {
          try await Task.sleep(for: limit)
          Issue.record("hangs, \(isWatched ? "watched" : "bare")")
          check.cancel()
          await stage.clear()
        }
        do {
          try await check.value
        } catch {
          Issue.record(error)
        }
        rescue.cancel()
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
