import TestingProcedureKit

/// An operation on the two queues of a `QueueSystem`. The number of a handle wraps around after the last handle.
enum QueueCommand: Sendable {
  case add(BodyPlan, queue: Int, after: Int?)
  /// Adds a body that receives the result of a handle.
  case follow(BodyPlan, queue: Int, handle: Int)
  /// Adds a body and then runs another, in a concurrent task.
  case call(BodyPlan, BodyPlan, queue: Int)
  case cancel(handle: Int)
  case suspend(queue: Int)
  case resume(queue: Int)
  case resize(queue: Int, width: Int)
  case cancelAll(queue: Int)
  case cancelCallers

  init(using random: inout SeededGenerator) {
    let (queue, handle) = (random.below(2), random.below(100))
    self =
      switch random.below(12) {
      case 0...3: .add(BodyPlan(using: &random), queue: queue, after: random.below(3) == 0 ? handle : nil)
      case 4, 5: .follow(BodyPlan(using: &random).withoutClaims, queue: queue, handle: handle)
      case 6: .cancel(handle: handle)
      case 7: .suspend(queue: queue)
      case 8: .resume(queue: queue)
      case 9: .resize(queue: queue, width: 1 + random.below(3))
      case 10: .call(BodyPlan(using: &random), BodyPlan(using: &random), queue: queue)
      default: random.below(3) == 0 ? .cancelAll(queue: queue) : .cancelCallers
      }
  }

  var simpler: [QueueCommand] {
    switch self {
    case .add(let body, let queue, let after):
      (after == nil ? [] : [.add(body, queue: queue, after: nil)])
        + body.simpler.map { .add($0, queue: queue, after: after) }
    case .follow(let body, let queue, let handle):
      body.simpler.map { .follow($0.withoutClaims, queue: queue, handle: handle) }
    case .call(let first, let second, let queue):
      first.simpler.map { .call($0, second, queue: queue) } + second.simpler.map { .call(first, $0, queue: queue) }
    default: []
    }
  }
}
