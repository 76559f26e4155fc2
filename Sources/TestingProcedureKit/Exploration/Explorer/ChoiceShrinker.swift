/// A search for simpler choices with which a schedule still fails.
///
/// The simplest choice is `0`, which lets the running task continue if it can. First, a bisection finds the shortest prefix of the choices
/// with which the schedule still fails if all later choices are zeros. Then smaller and smaller groups of the remaining nonzero choices are
/// replaced with zeros (delta debugging: Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, TSE 2002). Finally,
/// one or two neighbouring nonzero choices are replaced with zeros, and the choices after them are shifted by a few positions.
///
/// The search is a value type. To advance the search, read `candidate`, run the schedule with those choices, and report whether it failed
/// in the same way.
struct ChoiceShrinker {
  private enum Phase {
    /// The search for the shortest failing prefix, which has at most `upper` choices. Prefixes with fewer than `lower` choices have passed.
    case bisecting(lower: Int, upper: Int)
    /// Replaces `size` nonzero choices with zeros. `position` is the index of the first one among all nonzero choices.
    case zeroing(size: Int, position: Int)
    /// Replaces one or two nonzero choices with zeros, and shifts the later choices, as described by `variants[variant]`. `position` is the
    /// index of the first replaced choice among all nonzero choices.
    case moving(position: Int, variant: Int)
    case finished
  }

  /// The variants of a replacement. `width` is the number of consecutive nonzero choices to replace. `zeros` is the number of zeros to
  /// insert after the first of them. If `zeros` is negative, choices are dropped instead. The later choices have to be shifted, because
  /// replacing a choice usually changes the number of choices before the next switch.
  private static let variants: [(width: Int, zeros: Int)] =
    [(2, 0)] + [-1, 1, -2, 2, -3, 3].flatMap { [(1, $0), (2, $0)] }

  /// The simplest failing choices found so far.
  private(set) var choices: [Int]
  private var phase: Phase

  init(failing choices: [Int]) {
    self.choices = Self.trimmed(choices)
    phase = .bisecting(lower: 0, upper: self.choices.count)
    settle()
  }

  /// Returns the number of nonzero choices.
  static func deviations(in choices: [Int]) -> Int {
    choices.count { $0 != 0 }
  }

  /// The next choices to try, which are simpler than the failing choices found so far; `nil` if the search has ended.
  var candidate: [Int]? {
    switch phase {
    case .bisecting(let lower, let upper):
      return Self.trimmed(choices[..<((lower + upper) / 2)])
    case .zeroing(let size, let position):
      var simpler = choices
      for index in choices.indices.filter({ choices[$0] != 0 }).dropFirst(position).prefix(size) { simpler[index] = 0 }
      return Self.trimmed(simpler)
    case .moving(let position, let variant):
      let (width, zeros) = Self.variants[variant]
      var simpler = choices
      let replaced = choices.indices.filter { choices[$0] != 0 }.dropFirst(position).prefix(width)
      for index in replaced { simpler[index] = 0 }
      let start = (replaced.first ?? 0) + 1
      if zeros > 0 { simpler.insert(contentsOf: Array(repeating: 0, count: zeros), at: start) }
      if zeros < 0 { simpler.removeSubrange(start..<min(start - zeros, simpler.count)) }
      return Self.trimmed(simpler)
    case .finished:
      return nil
    }
  }

  /// Reports that the candidate failed in the same way. `actual` contains the choices that the run made.
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
    case .moving:
      guard Self.deviations(in: actual) < Self.deviations(in: choices) else { return candidatePassed() }
      choices = actual
      phase = .zeroing(size: 1, position: 0)
    case .finished: break
    }
    settle()
  }

  /// Reports that the candidate passed, or failed in another way.
  mutating func candidatePassed() {
    switch phase {
    case .bisecting(let lower, let upper): phase = .bisecting(lower: (lower + upper) / 2 + 1, upper: upper)
    case .zeroing(let size, let position): phase = .zeroing(size: size, position: position + size)
    case .moving(let position, let variant):
      phase =
        variant + 1 < Self.variants.count
        ? .moving(position: position, variant: variant + 1) : .moving(position: position + 1, variant: 0)
    case .finished: break
    }
    settle()
  }

  /// Skips phases that have no candidates.
  private mutating func settle() {
    let deviations = Self.deviations(in: choices)
    if case .bisecting(let lower, let upper) = phase, lower >= upper {
      phase = .zeroing(size: max(1, deviations / 2), position: 0)
    }
    while case .zeroing(let size, let position) = phase, position >= deviations {
      phase =
        size > 1 && deviations > 0
        ? .zeroing(size: min(size, deviations) / 2, position: 0) : .moving(position: 0, variant: 0)
      if case .zeroing(0, _) = phase { phase = .zeroing(size: 1, position: 0) }
    }
    if case .moving(let position, _) = phase, position >= deviations { phase = .finished }
  }

  private static func trimmed(_ choices: some BidirectionalCollection<Int>) -> [Int] {
    var choices = Array(choices)
    while choices.last == 0 { choices.removeLast() }
    return choices
  }
}
