import Testing
import TestingProcedureKit

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
    // On this clock a worker need not look whether it has had its time.
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true, clock: VirtualClock())
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

  @Test("A frame is passed on unless somebody refers to it, and goes with the last who does")
  func lease() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let runs = (0..<3).map { queue.add(ProcedureTask("\($0)") {}).run }
    let kept = Box<ProcedureContext?>(nil)
    weak var weakFrame: WorkerFrame?
    func use() async {
      let frame = WorkerFrame(runs[0], holding: nil)
      weakFrame = frame
      await ProcedureContext(frame).run { Self.use(Unmanaged.passUnretained(frame), runs, kept) }
      #expect(frame.scope === runs[2])
    }
    await use()
    #expect(weakFrame != nil && kept.value?.scope === runs[2])
    kept.update { $0 = nil }
    #expect(weakFrame == nil)
    await queue.resume()
  }

  @inline(never)
  private static func use(_ frame: Unmanaged<WorkerFrame>, _ runs: [DetachedRun], _ kept: Box<ProcedureContext?>) {
    var lease = WorkerFrameLease(frame)
    func pass(_ lease: inout WorkerFrameLease, to run: DetachedRun) -> DetachedRun? {
      var (run, hold) = (run, ResourceHold?.none)
      return lease.exchange(&run, holding: &hold) ? run : nil
    }
    let first = pass(&lease, to: runs[1])
    kept.update { $0 = ProcedureContext.current }
    let refused = pass(&lease, to: runs[2])
    #expect(first === runs[0] && refused == nil && kept.value?.scope === runs[1])
    kept.update { $0 = nil }
    let second = pass(&lease, to: runs[2])
    kept.update { $0 = ProcedureContext.current }
    #expect(second === runs[1] && kept.value?.scope === runs[2])
  }

  /// Notes, where its life ends, which it was, and sets a signal when so many have.
  private final class Value: Sendable {
    let number: Int
    let ended: Box<Set<Int>>
    let (count, areEnded): (Int, Signal)

    init(_ number: Int, _ ended: Box<Set<Int>>, after count: Int, _ areEnded: Signal) {
      (self.number, self.ended, self.count, self.areEnded) = (number, ended, count, areEnded)
    }

    deinit {
      let number = number
      let countSoFar = ended.update {
        $0.insert(number)
        return $0.count
      }
      if countSoFar == count { areEnded.set() }
    }
  }

  @Test(
    "A context that was kept keeps the run that it stands for, and nothing keeps the others")
  func keepsRuns() async {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let kept = Box<[ProcedureContext?]>([])
    let (keptEnded, othersEnded) = (Box<Set<Int>>([]), Box<Set<Int>>([]))
    let (keptAreEnded, othersAreEnded) = (Signal(), Signal())
    for number in 0..<100 {
      queue.add(
        ProcedureTask("\(number)") {
          let isKept = number % 4 == 2
          if isKept { kept.update { $0.append(ProcedureContext.current) } }
          // It goes with its run, for which there is no handle.
          return isKept
            ? Value(number, keptEnded, after: 25, keptAreEnded) : Value(number, othersEnded, after: 75, othersAreEnded)
        })
    }
    await queue.resume()
    await othersAreEnded.wait()
    #expect(keptEnded.value == [])
    #expect(kept.value.map { $0?.name } == (0..<100).filter { $0 % 4 == 2 }.map { "\($0)" })
    kept.update { $0 = [] }
    await keptAreEnded.wait()
  }

  @Test("What a run holds goes with it: in a frame of those that hold something and others that do not")
  func holds() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let handles = (0..<30).map { number in
      let inner = ProcedureTask("\(number)") { () -> (String?, Bool, Bool) in
        let context = ProcedureContext.current
        let hold = context?.hold
        return (hold?.claim.procedure.name, hold?.isHeld ?? false, context?.keptHold == nil)
      }
      return number % 3 == 0 ? queue.add(inner.exclusive("x")) : queue.add(inner)
    }
    await queue.resume()
    for (number, handle) in handles.enumerated() {
      let (name, isHeld, keepsNone) = try await handle.value
      #expect(name == (number % 3 == 0 ? "\(number)" : nil) && isHeld == (number % 3 == 0) && keepsNone)
    }
  }

  @Test("A reader that looks while its worker goes on sees its own body")
  func looking() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let wrong = Box(0)
    let handles = (0..<2_000).map { number in
      queue.add(
        ProcedureTask("\(number)") { () -> Task<Void, Never>? in
          guard number % 10 == 0 else { return nil }
          return Task {
            for _ in 0..<100 where ProcedureContext.current?.name != "\(number)" { wrong.update { $0 += 1 } }
          }
        })
    }
    await queue.resume()
    for handle in handles { await (try await handle.value)?.value }
    #expect(wrong.value == 0)
  }
}
