import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

private struct Cell: GraphKey {
  typealias Value = Int
  var name: String
}

@Suite("Values that bodies request by key: races", .timeLimit(.atDepth))
struct GraphRequestTests {
  @Test(
    "In every order of the requests, a value is computed once, and all bodies receive it", arguments: [1, 2, Int.max])
  func once(width: Int) async throws {
    try await exploreSchedules(TestDepth.count(500, least: 30)) { env in
      let (queue, executed) = (env.makeQueue("q", maxConcurrentProcedures: width), Locked<[String]>([]))
      let graph = ProcedureGraph("graph") { g in
        g.values(for: Cell.self) { cell, context in
          executed { $0.append(cell.name) }
          await pause(env, upTo: 2)
          if cell.name == "c" { return 1 }
          return 1 + (try await context.value(of: Cell(name: "c")))
        }
        let nodes = ["a", "b", "c", "a", "b"].map { name in
          g.add(name) { try await ProcedureContext.value(of: Cell(name: name)) }
        }
        return g.add(from: nodes)
      }
      let values = try await queue.run(graph)
      env.check(values == [2, 2, 1, 2, 2], "\(values)")
      env.check(executed.value.sorted() == ["a", "b", "c"], "\(executed.value)")
      await queue.shutDown()
    }
  }

  @Test("In every order of the requests, a cycle ends with an error for the request that closes it, which can be any")
  func cycle() async throws {
    for keys in [["a", "b"], ["a", "b", "c"]] {
      let next = Dictionary(uniqueKeysWithValues: zip(keys, keys.dropFirst() + keys.prefix(1)))
      let closers = Locked<Set<String>>([])
      try await exploreSchedules(TestDepth.count(500, least: 150)) { env in
        let width = 1 + env.randomNumber(below: 3)
        let (queue, ownErrors) = (env.makeQueue("q", maxConcurrentProcedures: width), Locked(0))
        let graph = ProcedureGraph("graph") { g in
          g.values(for: Cell.self) { cell, context in
            await pause(env, upTo: 1)
            do {
              return try await context.value(of: Cell(name: next[cell.name]!))
            } catch let error as GraphKeyError {
              // The path begins with the key whose request has closed the cycle.
              if error.keys.first?.name == cell.name {
                ownErrors { $0 += 1 }
                closers { _ = $0.insert(cell.name) }
              }
              env.check(error.kind == .cycle && Set(error.keys.map(\.name)) == Set(keys), "\(error)")
              env.check(error.keys.count == keys.count + 1, "\(error)")
              throw error
            }
          }
          for key in keys { g.add(key) { try await ProcedureContext.value(of: Cell(name: key)) } }
          return g.add("last") { 1 }
        }
        do {
          _ = try await queue.run(graph.onFailure(.collect))
          env.check(false, "the cycle was not found")
        } catch let error as ProcedureError {
          env.check(error.failures.count == keys.count, "\(error)")
        }
        env.check(ownErrors.value == 1, "\(ownErrors.value) requests have closed the cycle")
        await queue.shutDown()
      }
      #expect(closers.value == Set(keys))
    }
  }

  @Test("In every order, cancelled requests leave the value to the others, and no two computations overlap")
  func cancellation() async throws {
    let outcomes = Locked<Set<Int>>([])
    try await exploreSchedules(TestDepth.count(500, least: 30)) { env in
      let (queue, monitor) = (env.makeQueue("q"), ConcurrencyMonitor())
      let graph = ProcedureGraph("graph") { g in
        g.values(for: Cell.self) { _, _ in
          await monitor.during { await pause(env, upTo: 3) }
          return 1
        }
        return g.add("requests") {
          let requests = (0..<2).map { _ in Task { try await ProcedureContext.value(of: Cell(name: "a")) } }
          let last = Task {
            await pause(env, upTo: 20)
            return try await ProcedureContext.value(of: Cell(name: "a"))
          }
          await pause(env, upTo: 10)
          for request in requests { request.cancel() }
          for request in requests { _ = await request.result }
          return try await last.value
        }
      }
      let value = try await queue.run(graph)
      env.check(value == 1 && monitor.most == 1, "\(value), \(monitor.most) at the same time")
      outcomes { _ = $0.insert(monitor.total) }
      await queue.shutDown()
    }
    // If the cancelled requests come and go before the last one, the computation is started again.
    #expect(outcomes.value == [1, 2])
  }

  @Test(
    "In every order, a value that several requests have abandoned is computed again only after all of its computations")
  func repeatedCancellation() async throws {
    let outcomes = Locked<Set<Int>>([])
    try await exploreSchedules(TestDepth.count(1_000, least: 100)) { env in
      let (queue, monitor) = (env.makeQueue("q"), ConcurrencyMonitor())
      let graph = ProcedureGraph("graph") { g in
        // The computation does not end when it is cancelled.
        g.values(for: Cell.self) { _, _ in
          await monitor.during { await pause(env, upTo: 30) }
          return 1
        }
        return g.add("requests") {
          for _ in 0..<2 {
            let request = Task { try await ProcedureContext.value(of: Cell(name: "a")) }
            await pause(env, upTo: 6)
            request.cancel()
            _ = await request.result
          }
          return try await ProcedureContext.value(of: Cell(name: "a"))
        }
      }
      let value = try await queue.run(graph)
      env.check(value == 1 && monitor.most == 1, "\(value), \(monitor.most) at the same time")
      outcomes { _ = $0.insert(monitor.total) }
      await queue.shutDown()
    }
    #expect(outcomes.value.isSuperset(of: [1, 2]))
  }

  @Test("In every order, a cancelled graph ends after its values")
  func cancelledGraph() async throws {
    let outcomes = Locked<Set<Bool>>([])
    try await exploreSchedules(TestDepth.count(500, least: 100)) { env in
      let (queue, monitor) = (env.makeQueue("q", maxConcurrentProcedures: 2), ConcurrencyMonitor())
      let graph = ProcedureGraph("graph") { g in
        g.values(for: Cell.self) { cell, context in
          try await monitor.during {
            await pause(env, upTo: 2)
            return cell.name == "a" ? try await context.value(of: Cell(name: "b")) : 1
          }
        }
        let nodes = ["a", "b"].map { name in g.add(name) { try await ProcedureContext.value(of: Cell(name: name)) } }
        return g.add(from: nodes)
      }
      let handle = queue.add(graph)
      await pause(env, upTo: 4)
      handle.cancel()
      let outcome = await handle.outcome
      env.check(monitor.current == 0, "\(monitor.current) values are still being computed")
      if case .finished = outcome { outcomes { _ = $0.insert(true) } } else { outcomes { _ = $0.insert(false) } }
      await queue.shutDown()
    }
    #expect(outcomes.value == [true, false])
  }
}
