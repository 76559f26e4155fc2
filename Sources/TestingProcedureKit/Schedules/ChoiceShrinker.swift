/// Makes the choices of a failing schedule simpler, by proposing simpler ones to try.
///
/// The simplest choice is `0`, the job that has been ready for longest. First the shortest beginning that still fails
/// is looked for by bisection, with zeros after it; then ever smaller groups of other choices are replaced by zeros
/// (delta debugging: Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, TSE 2002).
///
/// A pure value: ask for a `candidate`, run it, and report whether it failed alike.
struct ChoiceShrinker {
  private enum Phase {
    /// A failing beginning is `upper` long at most; those shorter than `lower` have passed.
    case bisecting(lower: Int, upper: Int)
    /// `size` deviations at a time, from the `position`-th on.
    case zeroing(size: Int, position: Int)
    case finished
  }

  /// The simplest choices known to fail.
  private(set) var choices: [Int]
  private var phase: Phase

  init(failing choices: [Int]) {
    self.choices = Self.trimmed(choices)
    phase = .bisecting(lower: 0, upper: self.choices.count)
    settle()
  }

  /// The number of choices other than `0`.
  static func deviations(in choices: [Int]) -> Int {
    choices.count { $0 != 0 }
  }

  /// Choices to try, simpler than any known to fail, or `nil` when there are no more.
  var candidate: [Int]? {
    switch phase {
    case .bisecting(let lower, let upper):
      return Self.trimmed(choices[..<((lower + upper) / 2)])
    case .zeroing(let size, let position):
      var simpler = choices
      for index in choices.indices.filter({ choices[$0] != 0 }).dropFirst(position).prefix(size) { simpler[index] = 0 }
      return Self.trimmed(simpler)
    case .finished:
      return nil
    }
  }

  /// The candidate failed in the same way; `actual` are the choices that were in fact made.
  mutating func candidateFailed(_ actual: [Int]) {
    let actual = Self.trimmed(actual)
    switch phase {
    case .bisecting(let lower, let upper):
      choices = actual
      phase = .bisecting(lower: min(lower, actual.count), upper: min((lower + upper) / 2, actual.count))
    case .zeroing(let size, let position):
      if Self.deviations(in: actual) < Self.deviations(in: choices) {
        choices = actual
      } else {
        phase = .zeroing(size: size, position: position + size)
      }
    case .finished: break
    }
    settle()
  }

  /// The candidate did not fail, or in another way.
  mutating func candidatePassed() {
    switch phase {
    case .bisecting(let lower, let upper): phase = .bisecting(lower: (lower + upper) / 2 + 1, upper: upper)
    case .zeroing(let size, let position): phase = .zeroing(size: size, position: position + size)
    case .finished: break
    }
    settle()
  }

  /// Moves on from phases that have nothing to propose.
  private mutating func settle() {
    let deviations = Self.deviations(in: choices)
    if case .bisecting(let lower, let upper) = phase, lower >= upper {
      phase = .zeroing(size: max(1, deviations / 2), position: 0)
    }
    while case .zeroing(let size, let position) = phase, position >= deviations {
      phase = size > 1 && deviations > 0 ? .zeroing(size: min(size, deviations) / 2, position: 0) : .finished
      if case .zeroing(0, _) = phase { phase = .zeroing(size: 1, position: 0) }
    }
  }

  private static func trimmed(_ choices: some BidirectionalCollection<Int>) -> [Int] {
    var choices = Array(choices)
    while choices.last == 0 { choices.removeLast() }
    return choices
  }
}
