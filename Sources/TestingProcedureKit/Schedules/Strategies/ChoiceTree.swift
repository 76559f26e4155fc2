/// Walks every sequence of choices that a deterministic body offers, depth first.
///
/// A pure value: run `next`, followed by zeros, and report the choices that were made and how many there were to choose
/// from each time; the last choice that can be another becomes the next one.
struct ChoiceTree {
  /// The beginning of the sequence to run next, or `nil` when all have been run.
  private(set) var next: [Int]? = []

  mutating func didRun(_ choices: [Int], widths: [Int]) {
    let last = choices.indices.last { choices[$0] + 1 < widths[$0] }
    next = last.map { choices[..<$0] + [choices[$0] + 1] }
  }
}
