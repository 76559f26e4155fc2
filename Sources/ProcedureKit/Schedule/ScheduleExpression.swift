/// The definition of a schedule as a tree of steps. Several schedules can share a branch of a tree.
///
/// A combinator adds one node, regardless of the size of its operands. A node does not change while a schedule uses it, so many schedules
/// can contain the same node.
///
/// The conformance to `@unchecked Sendable` relies on an invariant: operands change only in `deinit`, and only in nodes that have no other
/// references.
///
/// The class is `package` because `ProcedureKitDurable` uses it.
package final class ScheduleExpression: @unchecked Sendable {
  enum Step: Sendable {
    /// Delays that a function computes.
    case computed(any DelaySource)
    case capped(at: Duration)
    /// Random delays, each between zero and the original delay.
    case jittered
    /// Each delay, randomly lengthened or shortened by at most the given fraction.
    case varied(by: Double)
    /// A limited number of delays. The associated value is the number of remaining delays.
    case prefix(Int)
    /// Delays whose sum is limited. The associated value is how much of the limit remains.
    case upTo(Duration)
    /// The longer (`and`) or the shorter (`or`) delay of each pair of delays.
    case and, or
    case then
  }

  /// Facts that are known about the delays before the first one is computed.
  struct Facts: Sendable {
    /// Whether the schedule never ends.
    var isEndless = false
    /// Whether all delays are zero.
    var isZero = false
  }

  let step: Step
  let facts: Facts
  private(set) var first: ScheduleExpression?
  private(set) var second: ScheduleExpression?

  init(_ step: Step, _ first: ScheduleExpression? = nil, _ second: ScheduleExpression? = nil, facts: Facts? = nil) {
    (self.step, self.first, self.second) = (step, first, second)
    self.facts = facts ?? Self.facts(of: step, first?.facts ?? Facts(), second?.facts ?? Facts())
  }

  deinit {
    // Recursion would overflow the stack when a long chain is released.
    var unused = [first.take(), second.take()]
    while var node = unused.popLast() {
      if isKnownUniquelyReferenced(&node), let node { unused += [node.first.take(), node.second.take()] }
    }
  }

  private static func facts(of step: Step, _ first: Facts, _ second: Facts) -> Facts {
    switch step {
    case .computed: Facts()
    case .capped(let longest): Facts(isEndless: first.isEndless, isZero: first.isZero || longest <= .zero)
    case .jittered, .varied: first
    case .prefix: Facts(isEndless: false, isZero: first.isZero)
    // The sum of any number of zero delays is zero.
    case .upTo(let total): Facts(isEndless: first.isEndless && first.isZero && total >= .zero, isZero: first.isZero)
    case .and: Facts(isEndless: first.isEndless && second.isEndless, isZero: first.isZero && second.isZero)
    case .or:
      Facts(
        isEndless: first.isEndless || second.isEndless,
        isZero: first.isZero && second.isZero || [first, second].contains { $0.isZero && $0.isEndless })
    case .then:
      Facts(
        isEndless: first.isEndless || second.isEndless, isZero: first.isZero && (first.isEndless || second.isZero))
    }
  }
}

/// A function that computes delays, together with its state.
protocol DelaySource: Sendable {
  mutating func next(using generator: inout any RandomNumberGenerator) -> Duration?
}
