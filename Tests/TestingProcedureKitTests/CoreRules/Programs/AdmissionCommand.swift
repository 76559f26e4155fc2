import TestingProcedureKit

/// An operation on the queues of an `AdmissionSystem`. Handles are numbered as in `QueueCommand`.
enum AdmissionCommand: Sendable {
  case add(AdmissionPlan, queue: Int, after: Int?)
  /// Waits for room in the limited queue, in a concurrent task.
  case enqueue(AdmissionPlan)
  /// Runs a procedure in a concurrent task.
  case call(AdmissionPlan, queue: Int)
  case cancel(handle: Int)
  case suspend(queue: Int)
  case resume(queue: Int)
  case cancelAll(queue: Int)
  case cancelCallers

  init(using random: inout SeededGenerator) {
    let (queue, handle) = (random.below(AdmissionSystem.queueCount), random.below(100))
    self =
      switch random.below(12) {
      case 0...4: .add(AdmissionPlan(using: &random), queue: queue, after: random.below(4) == 0 ? handle : nil)
      case 5: .enqueue(AdmissionPlan(using: &random))
      case 6, 7: .call(AdmissionPlan(using: &random), queue: queue)
      case 8: .cancel(handle: handle)
      case 9: .suspend(queue: queue)
      case 10: .resume(queue: queue)
      default: random.below(3) == 0 ? .cancelAll(queue: queue) : .cancelCallers
      }
  }

  var simpler: [AdmissionCommand] {
    switch self {
    case .add(let plan, let queue, let after):
      (after == nil ? [] : [.add(plan, queue: queue, after: nil)])
        + plan.simpler.map { .add($0, queue: queue, after: after) }
    case .enqueue(let plan): plan.simpler.map { .enqueue($0) }
    case .call(let plan, let queue): plan.simpler.map { .call($0, queue: queue) }
    default: []
    }
  }
}
