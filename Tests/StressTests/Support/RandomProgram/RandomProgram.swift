/// A program that consists of callers, each of which takes steps on two queues.
struct RandomProgram: Sendable {
  enum StepKind: CaseIterable {
    // These steps have a procedure.
    case run, runAndCancel, runShielded, add, addAndDrop, addAfter, produce
    // These steps do not.
    case pause, fail, cancelOwnRun, cancel, cancelAll, awaitHandle, suspend, changeWidth, waitUntilIdle, readEvents,
      shutDown

    static let withProcedure: [Self] = [.run, .runAndCancel, .runShielded, .add, .addAndDrop, .addAfter, .produce]
    /// The steps that need an executing procedure.
    static let ofProcedures: [Self] = [.runShielded, .produce, .fail, .cancelOwnRun]
    /// The steps that only callers take, because a procedure could wait for itself, or for events that never occur.
    static let ofCallers: [Self] = [.readEvents, .shutDown]
  }

  /// Something that a caller, a body, or a closure of a modifier does.
  struct Step: Sendable, CustomStringConvertible {
    var kind: StepKind
    var queue: Int
    /// A random number that determines pauses, handles and variants.
    var choice: Int
    /// At most one procedure.
    var procedures: [Procedure] = []

    var description: String {
      "\(queue == 0 ? "a" : "b").\(kind)(\(procedures.first.map { "\($0), " } ?? "")\(choice))"
    }
  }

  /// A procedure that is a leaf, or whose body takes steps.
  struct Procedure: Sendable, CustomStringConvertible {
    enum Body: CaseIterable { case leaf, failingLeaf, sequence, ignoringErrors, concurrently }

    /// The number of the procedure in the program, which is also its value.
    var number: Int
    var body: Body
    var choice: Int
    var steps: [Step] = []
    var modifiers: [Modifier] = []

    /// Whether the procedure cannot end with a value.
    var alwaysFails: Bool {
      let kinds = modifiers.map(\.kind)
      return !kinds.contains(.recover) && (body == .failingLeaf || kinds.contains(.falseCondition))
    }

    var description: String { "\(body)\(number) \(steps)\(modifiers.map { ".\($0)" }.joined())" }
  }

  enum ModifierKind: CaseIterable {
    case exclusive, shared, uses, priority, timeout, delay, falseCondition, interceptedTwice
    // These modifiers have a closure that takes a step.
    case retry, repeating, condition, onWillExecute, onDidExecute, onWillFinish, onDidFinish, onDidCancel, recover,
      cleanup, intercepted

    static let withoutStep: [Self] = [
      .exclusive, .shared, .uses, .priority, .timeout, .delay, .falseCondition, .interceptedTwice,
    ]
    static let ofRepetitions: [Self] = [.retry, .repeating]
  }

  struct Modifier: Sendable, CustomStringConvertible {
    var kind: ModifierKind
    var choice: Int
    /// At most one step.
    var steps: [Step] = []

    var description: String { "\(kind)(\(choice)\(steps.first.map { ", \($0)" } ?? ""))" }
  }

  var seed: UInt64
  /// The widths of the two queues.
  var widths: [Int]
  var callers: [[Step]]
  /// The kinds of all steps, bodies and modifiers.
  var kinds: Set<String>
}

extension RandomProgram: CustomStringConvertible {
  var description: String {
    (["seed \(seed): widths \(widths)"] + callers.map { $0.map(\.description).joined(separator: "\n    ") }).joined(
      separator: "\n  - ")
  }
}
