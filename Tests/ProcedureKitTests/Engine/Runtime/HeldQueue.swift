import TestingProcedureKit

@testable import ProcedureKit

/// A queue with one slot, which a body holds until it is told to end: what is added behind it stands in line, and from the
/// second on comes by the inbox.
struct HeldQueue {
  let queue: ProcedureQueue
  let body = ProbeProcedure("body")
  let holder: ProcedureHandle<Void>
  /// What has started, in order.
  let started = Box<[String]>([])

  init(resources: ResourceTable = .shared) async throws {
    queue = ProcedureQueue("held", maxConcurrentProcedures: 1, resources: resources)
    holder = queue.add(body.priority(.medium))
    try await body.waitUntilStarted()
  }

  func procedure(_ name: String, priority: TaskPriority = .medium) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [started] in started.update { $0.append(name) } }.priority(priority)
  }

  @discardableResult
  func add(_ name: String, priority: TaskPriority = .medium) -> ProcedureHandle<Void> {
    queue.add(procedure(name, priority: priority))
  }

  /// Adds one that stands in line, and three behind it that are in the inbox.
  @discardableResult
  func addFour() -> [ProcedureHandle<Void>] {
    ["a", "b", "c", "d"].map { add($0) }
  }

  /// How many runs the queue's machine knows: not those that are in the inbox.
  var admitted: Int { queue.core.withState(admitting: .none) { $0.machine.runIndices.count } }

  var isOpen: Bool { queue.core.withState(admitting: .none) { $0.inboxWish != Inbox.closed } }

  /// Lets the body end, and returns what has started since, once nothing is left.
  func release() async -> [String] {
    body.finish()
    // Looks at nothing on the queue: until here only its worker takes what is in the inbox.
    _ = await holder.outcome
    await queue.waitUntilIdle()
    return started.value
  }
}
