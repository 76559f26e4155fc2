/// A depth-first walk through all sequences of choices of a deterministic body.
///
/// A pure value: run `next`, continued with zeros, and report the choices and the number of ready jobs at each. The
/// last choice with an untried alternative is then changed.
struct ChoiceTree {
  /// The prefix of the next sequence to run; `nil` after the last sequence.
  private(set) var next: [Int]? = []

  mutating func didRun(_ choices: [Int], widths: [Int]) {
    let last = choices.indices.last { choices[$0] + 1 < widths[$0] }
    next = last.map { choices[..<$0] + [choices[$0] + 1] }
  }
}
