/// The state of one use of a schedule. Copies advance independently.
///
/// A *part* contains the state of one step of the schedule. It is created when the first delay of the step is requested. The evaluation is
/// iterative rather than recursive, so a schedule of 100,000 steps does not overflow the stack.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
package struct ScheduleEvaluation: Sendable {
  private enum Side: Sendable { case first, second }

  /// The state of a step, kept from when its first delay is requested until the step ends.
  private struct Part: Sendable {
    var step: ScheduleExpression.Step
    /// The function that computes the delays, and its state, if the step is `computed`.
    var source: (any DelaySource)?
    /// The first operand; `nil` if there is none, or if it has ended and the second operand is used instead.
    var first: Operand?
    var second: Operand?

    subscript(side: Side) -> Operand? {
      get { side == .first ? first : second }
      set { if side == .first { first = newValue } else { second = newValue } }
    }
  }

  private enum Operand: Sendable {
    /// An operand whose delay has not been requested yet.
    case unused(ScheduleExpression)
    /// An operand in use, whose part is at this position.
    case part(Int)
  }

  /// A part that is waiting for the delay of an operand.
  private struct Frame {
    let part: Int
    let side: Side
    /// The delay of the first operand, while the delay of the second operand is being computed.
    let firstDelay: Duration?
  }

  /// The next action of a part of the schedule.
  private enum Answer {
    case delay(Duration?)
    /// The delay of an operand must be computed first.
    case ask(Side, firstDelay: Duration? = nil)
  }

  private let expression: ScheduleExpression
  /// The parts; `nil` in place of a part that has ended. The array is empty before the first delay is requested.
  private var parts: [Part?] = []

  package init(_ expression: ScheduleExpression) { self.expression = expression }

  /// Returns the next delay of the schedule (T1), which is never negative and never longer than `Duration.longest`.
  ///
  /// Returns `nil` after the schedule ends. The function takes O(n) time for n steps in the schedule.
  package mutating func next(using generator: inout any RandomNumberGenerator) -> Duration? {
    var frames: [Frame] = []
    var part = parts.isEmpty ? add(expression) : 0
    var answer = asked(part, &generator)
    while true {
      switch answer {
      case .ask(let side, let firstDelay):
        frames.append(Frame(part: part, side: side, firstDelay: firstDelay))
        part = position(of: side, in: part)
        answer = asked(part, &generator)
      case .delay(let delay):
        // The part has ended, so it is removed.
        if delay == nil { parts[part] = nil }
        guard let frame = frames.popLast() else { return delay?.saturated }
        part = frame.part
        answer = answered(frame, delay?.saturated, &generator)
      }
    }
  }

  /// Computes the next delay of a part, or requests the delay of an operand.
  private mutating func asked(_ part: Int, _ generator: inout any RandomNumberGenerator) -> Answer {
    switch parts[part]?.step {
    case nil: return .delay(nil)
    case .computed: return .delay(parts[part]?.source?.next(using: &generator))
    case .prefix(let left):
      guard left > 0 else { return .delay(nil) }
      parts[part]?.step = .prefix(left - 1)
      return .ask(.first)
    case .capped, .jittered, .varied, .upTo, .and, .or: return .ask(.first)
    case .then: return .ask(parts[part]?.first == nil ? .second : .first)
    }
  }

  /// Passes the delay of an operand to the part that requested it.
  private mutating func answered(
    _ frame: Frame, _ delay: Duration?, _ generator: inout any RandomNumberGenerator
  ) -> Answer {
    guard let step = parts[frame.part]?.step else {
      preconditionFailure("\(#function): this part of the schedule has already ended")
    }
    switch step {
    case .computed: preconditionFailure("\(#function): a function has no operands")
    case .prefix: return .delay(delay)
    case .capped(let longest): return .delay(delay.map { min($0, longest) })
    case .jittered: return .delay(delay.map { .random(between: .zero, and: $0, using: &generator) })
    case .varied(let fraction):
      guard let delay else { return .delay(nil) }
      let margin = delay.scaled(by: fraction)
      return .delay(.random(between: delay - margin, and: delay + margin, using: &generator))
    case .upTo(let left):
      guard let delay, delay <= left else { return .delay(nil) }
      parts[frame.part]?.step = .upTo(left - delay)
      return .delay(delay)
    case .and:
      guard let delay else { return .delay(nil) }
      return frame.side == .first ? .ask(.second, firstDelay: delay) : .delay(max(frame.firstDelay ?? delay, delay))
    case .or:
      if frame.side == .first { return .ask(.second, firstDelay: delay) }
      guard let delay, let firstDelay = frame.firstDelay else { return .delay(delay ?? frame.firstDelay) }
      return .delay(min(firstDelay, delay))
    case .then:
      guard frame.side == .first, delay == nil else { return .delay(delay) }
      parts[frame.part]?.first = nil
      return .ask(.second)
    }
  }

  // MARK: The parts

  private mutating func add(_ expression: ScheduleExpression) -> Int {
    var part = Part(
      step: expression.step, first: expression.first.map(Operand.unused),
      second: expression.second.map(Operand.unused))
    if case .computed(let source) = expression.step { part.source = source }
    parts.append(part)
    return parts.count - 1
  }

  /// Returns the position of an operand's part, adding the part on first use.
  private mutating func position(of side: Side, in part: Int) -> Int {
    switch parts[part]?[side] {
    case .part(let position): return position
    case .unused(let expression):
      let position = add(expression)
      parts[part]?[side] = .part(position)
      return position
    case nil: preconditionFailure("\(#function): this part of the schedule has no such operand")
    }
  }
}
