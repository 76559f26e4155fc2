import ProcedureKit
import Synchronization
import TestingProcedureKit

/// A value that several tasks of a test can access.
final class Locked<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  init(_ value: Value) {
    storage = Mutex(value)
  }

  var value: Value { storage.withLock { $0 } }

  func update(_ change: @Sendable (inout Value) -> Void) { storage.withLock { change(&$0) } }
}

struct Flaw: Error, Equatable {
  var number: Int
}

/// Yields several times to other ready jobs.
func pause(_ env: ExplorationEnvironment, upTo limit: Int = 6) async {
  for _ in 0..<env.random.below(limit + 1) { await Task.yield() }
}

/// The ways in which a paced procedure is run.
enum Way: CaseIterable, Sendable {
  case run
  case add
  case child
  case part
  case level
  case node
  case attempt
  case copy
  case element

  /// Returns the outcome of `subject`, which is run in this way.
  func outcome<Input, Output>(
    of subject: ProcedureTask<Input, Output>, _ input: Input, on queue: ProcedureQueue
  ) async -> ProcedureOutcome<Output> {
    if self == .run {
      do {
        return .finished(try await queue.run(subject, input: input))
      } catch let error as ProcedureError where error.kind == .ignored {
        return .ignored(by: error.condition ?? "")
      } catch is CancellationError {
        return .cancelled(reason: nil)
      } catch {
        return .failed(error)
      }
    }
    return await queue.add(whole(subject), input: input).outcome
  }

  private func whole<Input, Output>(_ subject: ProcedureTask<Input, Output>) -> ProcedureTask<Input, Output> {
    switch self {
    case .run, .add: subject
    case .child:
      ProcedureTask("host") { (input: Input) in
        guard let context = ProcedureContext.current else { throw Flaw(number: -1) }
        return try await context.produce(subject, input: input).value
      }
    case .part: ProcedureTask("host") { (input: Input) in try await subject(input) }
    case .level: subject.map { $0 }
    case .node: ProcedureGraph("graph") { (g, input: Node<Input>) in g.add(subject, from: input) }.procedureTask
    case .attempt: subject.retry(.immediate, maxAttempts: 1)
    case .copy: subject.hedged(after: .seconds(1_000_000))
    case .element:
      ProcedureTask("host") { (input: Input) in
        guard let queue = ProcedureContext.current?.queue else { throw Flaw(number: -1) }
        for try await value in queue.results(of: subject.catchingErrors(), over: [input], maxConcurrentElements: 1) {
          return try value.get()
        }
        throw Flaw(number: -2)
      }
    }
  }
}
