import Testing

/// A rule of the scheduler that must hold in each way. The guide *How it works* lists the rules.
struct Rule: Sendable {
  /// The number of the rule, and the aspect that is checked.
  let id: String
  let sentence: String
  var ways = Way.allCases
  /// The width of the stage's queue.
  var width = 1
  let check: @Sendable (Stage) async throws -> Void

  /// A rule in one of its ways.
  struct Case: Sendable, CustomTestStringConvertible {
    let rule: Rule
    let way: Way

    var testDescription: String { "L5/\(rule.id): \(rule.sentence) (\(way))" }

    /// Checks the rule in each variant of the stage.
    ///
    /// If the time limit cancels the test, clearing the stage ends everything that the case waits for.
    func run() async {
      for variant in Stage.Variant.allCases {
        let stage = Stage(way, width: rule.width, variant)
        let check = Task { try await rule.check(stage) }
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
        await stage.clear()
      }
    }
  }
}

extension [Rule] {
  /// All rules, each in all of its ways.
  var cases: [Rule.Case] {
    flatMap { rule in rule.ways.map { Rule.Case(rule: rule, way: $0) } }
  }
}
