import Testing

@testable import ProcedureKit

@Suite struct RunLifecycleTests {
  @Test("L1: the documented table has a row for each state, a column for each event, and no cell that says nothing")
  func tableIsComplete() throws {
    let table = try RunLifecycleTable.documented()
    #expect(table.states.map(\.value) == ProcedureState.allCases)
    #expect(Set(table.events).count == 9)
    for event in table.events { #expect(!RunLifecycleEvent.named(event).isEmpty, "who is \(event)?") }
    #expect(table.cells.count == 7 * 9)
    for cell in table.cells { #expect(cell.entry != nil, "\(cell)") }
  }

  @Test("L1, C1, C2: each event does in each state what the documented table says")
  func cellsHold() throws {
    for cell in try RunLifecycleTable.documented().cells {
      guard let entry = cell.entry, entry != .trap, let state = cell.state.value else { continue }
      for event in RunLifecycleEvent.named(cell.event) {
        for isCancelled in [false, true] {
          var lifecycle = RunLifecycle.inState(state, isCancelled: isCancelled)
          let answer = event.happen(to: &lifecycle)
          let consequence = RunLifecycleEvent.Consequence(lifecycle.state, lifecycle.isCancelled, answer)
          let promised = event.promised(entry, in: state, isCancelled: isCancelled)
          #expect(consequence == promised, "\(cell), \(event), cancelled before: \(isCancelled)")
        }
      }
    }
  }

  /// Each event once where it traps, whatever its argument.
  static let traps: [RunLifecycleTable.Cell] =
    ((try? RunLifecycleTable.documented())?.cells ?? []).filter { $0.entry == .trap }

  @Test("An event that the documented table marks as a trap traps, and names itself and the state", arguments: traps)
  func cellsTrap(_ cell: RunLifecycleTable.Cell) async throws {
    let event = try #require(RunLifecycleEvent.named(cell.event).last)
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [cell, event = event as RunLifecycleEvent] in
      var lifecycle = RunLifecycle.inState(try #require(cell.state.value))
      _ = event.happen(to: &lifecycle)
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #if DEBUG
      #expect(message.contains("RunLifecycle: \(event.function) cannot happen in the state \(cell.state.name)"))
    #endif
  }

  @Test(
    "L1: a pause leads back only to what a retry can wrap; anything else traps",
    arguments: ["pending", "pausing", "finishing", "finished"])
  func pausesLeadBack(to name: String) async {
    await #expect(processExitsWith: .failure) { [name] in
      var lifecycle = RunLifecycle.inState(.pausing)
      _ = RunLifecycleEvent.resumed(at: .init(name: name)).happen(to: &lifecycle)
    }
  }

  @Test("L1: states only go forward, except out of a pause; each run can finish wherever it stands, and only once")
  func statesGoForward() throws {
    let cells = try RunLifecycleTable.documented().cells
    for start in [RunLifecycle(hasDependencies: true), RunLifecycle(hasDependencies: false)] {
      var reached = [start]
      var canFinish: Set<Int> = []
      var steps: [(from: Int, to: Int)] = []
      var position = 0
      while position < reached.count {
        defer { position += 1 }
        let from = reached[position]
        for cell in cells where cell.state.value == from.state && cell.entry != .trap {
          for event in RunLifecycleEvent.named(cell.event) {
            var next = from
            _ = event.happen(to: &next)
            let isForward = next.state.rawValue >= from.state.rawValue || from.state == .pausing
            #expect(isForward, "\(from.state) led to \(next.state), by \(event)")
            if next.state == .finished, from.state != .finished { #expect(event == .finished) }
            if !reached.contains(next) { reached.append(next) }
            steps.append((position, reached.firstIndex(of: next) ?? -1))
          }
        }
      }
      canFinish = Set(reached.indices.filter { reached[$0].state == .finished })
      for _ in reached { canFinish.formUnion(steps.filter { canFinish.contains($0.to) }.map(\.from)) }
      #expect(canFinish.count == reached.count)
    }
  }
}
