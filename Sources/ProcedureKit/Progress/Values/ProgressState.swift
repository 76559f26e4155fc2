/// Decides how far a part is. A value: one run with what it has started, or one graph with its nodes.
///
/// The body of a run, once it has reported, is one part of weight 1, and each child is another one, of the child's weight. The nodes of a graph are
/// parts of the graph, whose weight is their sum. What is shown never goes back.
struct ProgressState {
  private struct Child {
    let weight: Double
    var fraction = 0.0
  }

  private(set) var shown = ProcedureProgress()
  private(set) var hasEnded = false
  /// Counts the changes of what is shown.
  private(set) var version = 0
  /// The fraction that the body has reported, if it has.
  private var reported: Double?
  /// The children that have not ended.
  private var children: [ProcedureID: Child] = [:]
  /// The sum of all weights, and the sum of what is done of them.
  private(set) var total: Double
  private var done = 0.0
  private var isFixed: Bool
  /// The instant and the fraction from which the speed is measured.
  private var beginning: (instant: ProcedureInstant, fraction: Double)?

  /// - Parameters:
  ///   - total: The weight of all children, if it is known; otherwise the weights of the children are added up as they come.
  ///   - start: The instant at which the body has started, if that is known.
  init(total: Double? = nil, start: ProcedureInstant? = nil) {
    self.total = total ?? 0
    isFixed = total != nil
    beginning = start.map { ($0, 0) }
  }

  /// The body has reported a fraction, and perhaps the units that it stands for.
  mutating func bodyReported(_ fraction: Double, completed: Int? = nil, of total: Int? = nil, at now: ProcedureInstant)
  {
    guard !hasEnded, !fraction.isNaN else { return }
    let fraction = min(max(fraction, 0), 1)
    if fraction >= reported ?? 0, (completed, total) != (shown.completedUnits, shown.totalUnits) {
      (shown.completedUnits, shown.totalUnits) = (completed, total)
      version += 1
    }
    reported = max(reported ?? 0, fraction)
    show(at: now)
  }

  /// A child has come. Returns whether the child is new.
  mutating func childCame(_ id: ProcedureID, weight: Double) -> Bool {
    guard !hasEnded, children[id] == nil else { return false }
    children[id] = Child(weight: weight)
    if !isFixed { total += weight }
    return true
  }

  /// A child is so far.
  mutating func childAdvanced(_ id: ProcedureID, to fraction: Double, at now: ProcedureInstant) {
    guard let child = children[id], fraction > child.fraction else { return }
    children[id]?.fraction = fraction
    done += (fraction - child.fraction) * child.weight
    show(at: now)
  }

  /// A child has ended, in whatever way, and counts as done.
  mutating func childEnded(_ id: ProcedureID, at now: ProcedureInstant) {
    guard let child = children.removeValue(forKey: id) else { return }
    done += (1 - child.fraction) * child.weight
    show(at: now)
  }

  /// A child has failed that is tried again: nothing of the child counts any more.
  mutating func childWithdrawn(_ id: ProcedureID) {
    guard let child = children.removeValue(forKey: id) else { return }
    done -= child.fraction * child.weight
    total -= child.weight
  }

  /// The run has ended.
  mutating func ended(hasFinished: Bool) {
    guard !hasEnded else { return }
    hasEnded = true
    children = [:]
    if hasFinished { shown.fraction = 1 }
    shown.remaining = hasFinished ? .zero : nil
    version += 1
  }

  private mutating func show(at now: ProcedureInstant) {
    let whole = total + (reported == nil ? 0 : 1)
    let fraction = whole > 0 ? min(max(((reported ?? 0) + done) / whole, 0), 1) : 0
    guard !hasEnded, fraction > shown.fraction else { return }
    shown.fraction = fraction
    version += 1
    guard let beginning else {
      self.beginning = (now, fraction)
      return
    }
    let speed = fraction - beginning.fraction
    if speed > 0 { shown.remaining = beginning.instant.duration(to: now).scaled(by: (1 - fraction) / speed) }
  }
}
