/// A schedule that does not end: tasks go on, but the body does not finish within the step limit.
///
/// After the limit, the explorer lets the strands take turns for some more steps, to find the reason.
public struct Livelock: Hashable, Sendable, CustomStringConvertible {
  /// The step limit that the schedule has reached.
  public var steps: Int

  /// The strands that still ran when they took turns, as text.
  public var strands: [String]

  /// The order of strands that repeats itself again and again when the strands take turns; `nil` if no order repeats
  /// itself.
  public var cycle: [Int]?

  /// The number of further steps after which the body finished when the strands took turns; `nil` if the body did not.
  ///
  /// The schedule was then only long, or a strand was starved, for example by another strand that waits by yielding.
  public var furtherSteps: Int?

  /// The livelock in words.
  public var description: String {
    var text = "still not finished after \(steps.counting("step"))"
    if let furtherSteps {
      return text + "; the body finished when the strands took turns for \(furtherSteps.counting("further step"))"
    }
    let shown = strands.prefix(8).joined(separator: ", ") + (strands.count > 8 ? ", …" : "")
    if let cycle {
      let order = cycle.prefix(16).map(String.init).joined(separator: " ") + (cycle.count > 16 ? " …" : "")
      text += "; strands that go round and round: \(shown) (the order \(order) repeats itself)"
    } else if !strands.isEmpty {
      text += "; strands that still run: \(shown)"
    }
    return text
  }

  /// Returns the shortest part that `order` repeats throughout its last half; `nil` without a repetition.
  static func cycle(of order: [Int]) -> [Int]? {
    let half = order.count / 2
    guard order.count >= 16 else { return nil }
    let length = (1...(half / 4)).first { length in
      (half..<order.count).allSatisfy { order[$0] == order[$0 - length] }
    }
    return length.map { Array(order.suffix($0)) }
  }
}
