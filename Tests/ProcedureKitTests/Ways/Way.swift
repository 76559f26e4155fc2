import ProcedureKit
import TestSupport

/// The ways in which a procedure can be run.
enum Way: String, CaseIterable, Sendable {
  /// A procedure that is run, and one that is added.
  case run, add
  /// A procedure without a queue.
  case alone
  /// A child that another procedure's body produces.
  case child
  /// A procedure that another procedure's body calls.
  case part
  /// A procedure within a modifier that opens a level around it.
  case level
  /// A node of a graph, without and with an input.
  case node, nodeWithInput
  /// The only attempt of a retry, and the second one.
  case attempt, secondAttempt
  /// The first copy of a hedge.
  case copy
  /// An element of a result sequence that the body of another iterates, in order and as the values come.
  case element, unorderedElement

  /// The ways on a queue.
  static let queued = allCases.filter { $0 != .alone }
  /// The ways that are elements. An ignored element is left out.
  static let elements: [Way] = [.element, .unorderedElement]
  /// The ways that are not elements.
  static let withoutElements = allCases.filter { !elements.contains($0) }
  /// The ways that have their own handles.
  static let handled: [Way] = [.add, .child]
  /// The ways whose own events a queue publishes. The events of a run without a queue are not available.
  static let eventful: [Way] = [.run, .add, .child, .node, .nodeWithInput]

  /// Returns the procedure that must be run to execute `subject` in this way.
  ///
  /// - Parameters:
  ///   - subject: The procedure under test.
  ///   - didProduce: A function that receives the handle of a produced procedure.
  /// - Returns: The outermost procedure, whose value is that of `subject`.
  func whole(
    _ subject: ProcedureTask<Void, Int>,
    didProduce: @escaping @Sendable (ProcedureHandle<Int>) -> Void = { _ in }
  ) -> ProcedureTask<Void, Int> {
    switch self {
    case .run, .add, .alone: subject
    case .child:
      ProcedureTask("host") {
        guard let context = ProcedureContext.current else { throw TestError(code: -1) }
        let handle = context.produce(subject)
        didProduce(handle)
        return try await handle.value
      }
    case .part: ProcedureTask("host") { try await subject.called() }
    case .level: subject.map { $0 }
    case .node: ProcedureGraph("host") { $0.add(subject) }.procedureTask
    case .nodeWithInput:
      ProcedureGraph("host") { $0.add(subject, from: $0.add(ProcedureTask("input") {})) }.procedureTask
    case .attempt: subject.retry(.immediate, maxAttempts: 1)
    case .secondAttempt:
      ProcedureTask<Void, Int>(subject.name) { throw TestError(code: -2) }
        .retry(.immediate) { _, attempt in attempt == 1 ? .replace(by: subject) : .stop }
    case .copy: subject.hedged(after: .seconds(1_000_000_000))
    case .element, .unorderedElement:
      ProcedureTask("host") {
        guard let queue = ProcedureContext.current?.queue else { throw TestError(code: -1) }
        for try await value in queue.results(
          of: subject, over: [()], maxConcurrentElements: 1, ordered: self == .element)
        {
          return value
        }
        throw TestError(code: -3)
      }
    }
  }

  /// Runs `subject` in this way. The outermost procedure runs in the caller's task, except for `add`.
  func outcome(
    of subject: ProcedureTask<Void, Int>, on queue: ProcedureQueue = ProcedureQueue("ways")
  ) async -> Result<Int, any Error> {
    let whole = whole(subject)
    do {
      switch self {
      case .alone: return .success(try await whole.called())
      case .add: return .success(try await queue.add(whole).value)
      default: return .success(try await queue.run(whole))
      }
    } catch {
      return .failure(error)
    }
  }
}

extension ProcedureTask where Input == Void {
  /// Calls the procedure, as `try await procedure(())` does. The tests call procedures in this way only through this function.
  @concurrent func called() async throws -> Output { try await execute(()) }
}
