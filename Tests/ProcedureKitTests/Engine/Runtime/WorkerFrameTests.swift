import Testing

@testable import ProcedureKit

/// A worker binds one context for the bodies that it executes one after another, and nobody can tell.
@Suite struct WorkerFrameTests {
  @Test("A task that a body has left behind has the context of that body, whatever its worker executes meanwhile")
  func leftBehind() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let (isOver, seen) = (Signal(), Box<[ProcedureID: [ProcedureID?]]>([:]))
    let handles = (0..<300).map { number in
      queue.add(
        ProcedureTask("\(number)") { () -> Task<Void, Never>? in
          let id = ProcedureContext.current?.id
          guard let id, number % 3 == 0 else { return nil }
          return Task {
            await isOver.wait()
            seen.update { $0[id, default: []].append(ProcedureContext.current?.id) }
          }
        })
    }
    await queue.resume()
    await queue.waitUntilIdle()
    isOver.set()
    for handle in handles { await (try await handle.value)?.value }
    #expect(seen.value.count == 100)
    for (id, ids) in seen.value { #expect(ids == [id]) }
    #expect(Set(seen.value.keys) == Set(handles.enumerated().filter { $0.offset % 3 == 0 }.map(\.element.id)))
  }

  @Test("A context that was kept stands for its run, whatever the worker executes next")
  func kept() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let handles = (0..<100).map { number in
      queue.add(ProcedureTask("\(number)") { number % 4 < 2 ? ProcedureContext.current : nil })
    }
    await queue.resume()
    for (number, handle) in handles.enumerated() {
      let context = try await handle.value
      #expect(context?.id == (number % 4 < 2 ? handle.id : nil))
      #expect(context?.name == (number % 4 < 2 ? "\(number)" : nil))
    }
  }

  @Test("Bodies that keep nothing of their contexts share them, also if tasks inside of them look at these")
  func shared() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let look = { @Sendable in ProcedureContext.current.map { ObjectIdentifier($0.frame) } }
    let handles = (0..<100).map { _ in
      queue.add(
        ProcedureTask("look") {
          let own = look()
          async let child = look()
          let children = await withTaskGroup(of: ObjectIdentifier?.self) { group in
            for _ in 0..<3 { group.addTask { look() } }
            return await group.reduce(into: []) { $0.append($1) }
          }
          return ([await child] + children).allSatisfy { $0 == own } ? own : nil
        })
    }
    await queue.resume()
    var frames: [ObjectIdentifier] = []
    for handle in handles { frames.append(try #require(try await handle.value)) }
    // Now and then a worker goes the long way.
    #expect(zip(frames, frames.dropFirst()).count { $0 == $1 } > 80)
  }

  @Test("No context is there for what a worker executes besides bodies")
  func elsewhere() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let seen = Box<[String: [String?]]>([:])
    let note = { @Sendable (place: String) in
      seen.update { $0[place, default: []].append(ProcedureContext.current?.name) }
    }
    for number in 0..<3 {
      queue.add(ProcedureTask("plain \(number)") { note("body") })
      queue.add(
        ProcedureTask("conditional \(number)") { note("body") }
          .condition(
            Condition("c") {
              note("condition")
              return true
            }))
    }
    await queue.resume()
    await queue.waitUntilIdle()
    #expect(seen.value["condition"] == [nil, nil, nil])
    #expect(
      Set(seen.value["body", default: []])
        == Set((0..<3).flatMap { ["plain \($0)", "conditional \($0)"] }))
  }

  @Test("What a queue carries to a body does not hide the body's own context")
  func carriers() async throws {
    let queue = ProcedureQueue(
      "q", maxConcurrentProcedures: 1, isSuspended: true,
      contextCarriers: [ContextCarrier(Self.$word), ContextCarrier(ProcedureContext.$current)])
    let outer = ProcedureQueue("outer")
    let handles = try await outer.add(
      ProcedureTask("outer") {
        ["a", "b", "c"].map { name in
          Self.$word.withValue(name) {
            queue.add(ProcedureTask(name) { [Self.word, ProcedureContext.current?.name] })
          }
        }
      }
    ).value
    await queue.resume()
    var seen: [[String?]] = []
    for handle in handles { seen.append(try await handle.value) }
    #expect(seen == [["a", "a"], ["b", "b"], ["c", "c"]])
  }

  @TaskLocal private static var word: String?

  @Test("A frame is passed on unless somebody refers to it")
  func lease() async {
    let queue = ProcedureQueue("q", isSuspended: true)
    let runs = (0..<3).map { queue.add(ProcedureTask("\($0)") {}).run }
    let frame = WorkerFrame(runs[0], holding: nil)
    await ProcedureContext(frame).run {
      var lease = WorkerFrameLease(Unmanaged.passUnretained(frame))
      let isPassed = lease.pass(to: runs[1], holding: nil)
      let kept = ProcedureContext.current
      let isPassedAgain = lease.pass(to: runs[2], holding: nil)
      #expect(isPassed && !isPassedAgain)
      #expect(kept?.scope === runs[1])
    }
    #expect(frame.scope === runs[1])
    await queue.resume()
  }

  @Test("A frame goes with its worker, unless somebody keeps it", arguments: [false, true])
  func lifetime(isKept: Bool) async throws {
    struct Weak: Sendable {
      weak var frame: ContextFrame?
    }
    let (frames, kept) = (Box<[Weak]>([]), Box<[ProcedureContext?]>([]))
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let handles = (0..<10).map { _ in
      queue.add(
        ProcedureTask("look") {
          frames.update { $0.append(Weak(frame: ProcedureContext.current?.frame)) }
          if isKept { kept.update { $0.append(ProcedureContext.current) } }
        })
    }
    await queue.resume()
    for handle in handles { try await handle.value }
    #expect(!isKept || Set(frames.value.map { $0.frame.map(ObjectIdentifier.init) }).count == 10)
    kept.update { $0 = [] }
    // After the last body that can be awaited, its worker has to leave the frame.
    var looks = 0
    while frames.value.contains(where: { $0.frame != nil }), looks < 100_000 {
      await Task.yield()
      looks += 1
    }
    #expect(frames.value.allSatisfy { $0.frame == nil })
  }
}
