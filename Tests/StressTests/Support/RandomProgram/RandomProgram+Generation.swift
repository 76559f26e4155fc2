import TestSupport
import TestingProcedureKit

extension RandomProgram {
  /// Generates the program that belongs to a seed.
  init(seed: UInt64) {
    var generator = Generator(seed: seed)
    let widths = (0..<2).map { _ in 1 + generator.random.below(3) }
    let callers = (0...generator.random.below(4)).map { _ in
      (0...generator.random.below(4)).map { _ in generator.step(in: .caller) }
    }
    self.init(seed: seed, widths: widths, callers: callers, kinds: generator.used)
  }

  private struct Generator {
    enum Place { case caller, body, closure }

    var random: SeededGenerator
    private let steps: [StepKind]
    private let modifiers: [ModifierKind]
    private let mostProcedures: Int
    private var procedures = 0
    private(set) var used: Set<String> = []

    init(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      // Three of four programs use only some kinds, so that each of these is frequent, and rare combinations are generated, too.
      let percent = random.chance(percent: 75) ? 10 + random.below(40) : 100
      steps = StepKind.allCases.filter { random.chance(percent: $0 == .shutDown ? percent / 4 : percent) }
      modifiers = ModifierKind.allCases.filter { _ in random.chance(percent: percent) }
      mostProcedures = 2 + random.below(7)
      self.random = random
    }

    mutating func step(in place: Place) -> Step {
      let excluded: [StepKind] =
        switch place {
        case .caller: StepKind.ofProcedures
        case .body: StepKind.ofCallers
        case .closure: StepKind.ofCallers + [.waitUntilIdle]
        }
      let possible = steps.filter { !excluded.contains($0) }
      var kind = random.pick(from: place == .caller ? [StepKind.run, .add, .add] : [.run, .pause])
      if !possible.isEmpty, random.chance(percent: 65) { kind = random.pick(from: possible) }
      let hasProcedure = StepKind.withProcedure.contains(kind)
      if hasProcedure, procedures == mostProcedures { kind = .pause }
      used.insert("\(kind)")
      var step = Step(kind: kind, queue: random.chance(percent: 75) ? 0 : 1, choice: random.below(1_000))
      if hasProcedure, kind != .pause { step.procedures = [procedure(in: place)] }
      return step
    }

    private mutating func procedure(in place: Place) -> Procedure {
      procedures += 1
      let isLeaf = random.chance(percent: place == .body ? 60 : 40)
      var procedure = Procedure(
        number: procedures, body: isLeaf ? .leaf : random.pick(from: Procedure.Body.allCases),
        choice: random.below(1_000))
      used.insert("\(procedure.body)")
      if ![.leaf, .failingLeaf].contains(procedure.body) {
        procedure.steps = (0...(1 + random.below(2))).map { _ in step(in: .body) }
      }
      for _ in 0..<(modifiers.isEmpty ? 0 : random.pick(from: [0, 1, 1, 2, 2, 3, 4])) {
        var modifier = Modifier(kind: random.pick(from: modifiers), choice: random.below(1_000))
        let repeats = ModifierKind.ofRepetitions.contains(modifier.kind)
        // Two repeating modifiers would multiply the executions.
        if repeats, procedure.modifiers.contains(where: { ModifierKind.ofRepetitions.contains($0.kind) }) { continue }
        used.insert("\(modifier.kind)")
        if !ModifierKind.withoutStep.contains(modifier.kind) { modifier.steps = [step(in: .closure)] }
        procedure.modifiers.append(modifier)
      }
      return procedure
    }
  }
}
