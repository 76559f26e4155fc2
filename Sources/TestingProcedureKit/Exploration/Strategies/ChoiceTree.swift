/// A depth-first search through all sequences of choices of a deterministic body, ordered by the number of preemptions.
///
/// First, all sequences without a preemption are run, then all sequences with one preemption, and so on. Each sequence is run exactly once.
/// A preemption that has not been tried becomes the root of a later search.
///
/// A choice forced by a lock has no alternatives.
///
/// The search is a value type. To advance the search, run a schedule with the choices in `next`, choose the first job from then on, and
/// report the schedule's record. The search then changes the last choice that has an untried alternative.
struct ChoiceTree {
  /// The untried preemptions at one wake. Each preemption consists of `prefix`, which ends before the wake, and a nonzero choice below
  /// `width`.
  private struct Branch {
    var prefix: [Int]
    var width: Int
  }

  /// The prefix of the next sequence to run; `nil` after the last sequence.
  private(set) var next: [Int]? = []

  /// The number of preemptions in the sequence `next`.
  private var preemptions = 0
  /// The choice that was tried first at each position.
  private var firsts: [Int] = []
  /// The number of choices that the current search leaves unchanged.
  private var rootLength = 0
  /// The roots of later searches. Those in `roots` have as many preemptions as `next`, and those in `laterRoots` have one more.
  private var roots: [Branch] = []
  private var laterRoots: [Branch] = []

  /// The largest number of preemptions for which every sequence of choices has been run; `nil` if some sequences without a preemption have
  /// not been run.
  private(set) var completePreemptions: Int?

  mutating func didRun(_ record: ScheduleRecord) {
    guard let prefix = next else { return }
    let (choices, widths) = (record.choices, record.widths)
    firsts = Array(firsts.prefix(prefix.count) + choices.dropFirst(prefix.count))
    for position in choices.indices.dropFirst(prefix.count) where record.isWake[position] && widths[position] > 1 {
      laterRoots.append(Branch(prefix: Array(choices[..<position]), width: widths[position]))
    }
    let last = choices.indices.dropFirst(rootLength).last { position in
      !record.isWake[position] && !record.forced.contains(position)
        && alternative(to: choices[position], at: position) < widths[position]
    }
    next = last.map { choices[..<$0] + [alternative(to: choices[$0], at: $0)] } ?? nextRoot()
  }

  /// Returns the choice to try after `choice`. The choice that the schedule itself made comes first, followed by all others in order.
  private func alternative(to choice: Int, at position: Int) -> Int {
    let next = choice == firsts[position] ? 0 : choice + 1
    return next == firsts[position] ? next + 1 : next
  }

  private mutating func nextRoot() -> [Int]? {
    if roots.isEmpty {
      completePreemptions = preemptions
      preemptions += 1
      (roots, laterRoots) = (laterRoots, [])
    }
    guard var branch = roots.popLast() else { return nil }
    branch.width -= 1
    if branch.width > 1 { roots.append(branch) }
    let root = branch.prefix + [branch.width]
    rootLength = root.count
    firsts = root
    return root
  }
}
