import Dispatch
import TestSupport
import Testing
import TestingProcedureKit

extension StressTests {
  /// Nobody watches the queue but now and then: what is added while somebody does goes another way.
  @Test("Runs of mixed priorities come from four threads, while all else happens to the queue", arguments: [1, 2, 8])
  func mixedAdders(width: Int) async throws {
    for seed in 0..<UInt64(Stress.rounds) {
      let trial = InboxTrial(seed: seed, width: width)
      async let disturbing: Void = trial.disturb(150)
      DispatchQueue.concurrentPerform(iterations: 4) { trial.add(Stress.many / 8, on: $0) }
      await disturbing
      await trial.queue.resume()
      await trial.queue.waitUntilIdle()
      await trial.expectAllEnded(Stress.many / 8 * 4, mayBeRefused: false)
    }
  }

  @Test("The queue is shut down while four threads add to it", arguments: [1, 2, 8])
  func shutDownWhileAdding(width: Int) async throws {
    for seed in 0..<UInt64(Stress.rounds * TestDepth.count(10, least: 2)) {
      let trial = InboxTrial(seed: seed, width: width)
      async let shuttingDown: Void = {
        await trial.disturb(20)
        await trial.queue.resume()
        await trial.queue.shutDown()
        #expect(trial.queue.snapshot().procedures.isEmpty, "seed \(seed)")
      }()
      DispatchQueue.concurrentPerform(iterations: 4) { trial.add(500, on: $0) }
      await shuttingDown
      await trial.expectAllEnded(2_000, mayBeRefused: true)
    }
  }
}

/// One queue, several who add to it, and one who does everything else.
private final class InboxTrial: Sendable {
  let queue: ProcedureQueue
  private let seed: UInt64
  private let width: Int
  private let ledger = Ledger()
  private let handles = Mailbox<ProcedureHandle<Void>>()
  /// Cancelled and over before their bodies: those may not start.
  private let decided = Mailbox<ProcedureID>()

  init(seed: UInt64, width: Int) {
    (self.seed, self.width) = (seed, width)
    queue = ProcedureQueue("inbox", maxConcurrentProcedures: width)
  }

  /// Adds so many procedures, one after another.
  func add(_ count: Int, on thread: Int) {
    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(thread))
    var mine: [ProcedureHandle<Void>] = []
    for _ in 0..<count {
      let priority: TaskPriority =
        [.medium, .medium, .medium, .medium, .medium, .medium, .high, .low].randomElement(using: &random) ?? .medium
      let worker = ledger.worker().priority(priority)
      let isExclusive = Int.random(in: 0..<40, using: &random) == 0
      let handle = queue.add(isExclusive ? worker.exclusive("inbox stress") : worker)
      mine.append(handle)
      handles.put(handle)
      if Int.random(in: 0..<4, using: &random) == 0 { ledger.watch(handle) }
      if Int.random(in: 0..<16, using: &random) == 0, let other = mine.randomElement(using: &random) { cancel(other) }
    }
  }

  private func cancel(_ handle: ProcedureHandle<Void>) {
    handle.cancel()
    if handle.state == .finished, !ledger.hasStarted(handle.id) { decided.put(handle.id) }
  }

  /// Does all that concerns what is in the inbox, in an order that the seed decides.
  func disturb(_ steps: Int) async {
    var random = SeededGenerator(seed: seed &+ 1_000_003)
    for _ in 0..<steps {
      switch Int.random(in: 0..<8, using: &random) {
      case 0:
        await queue.suspend()
        await Task.yield()
        await queue.resume()
      case 1: await queue.setMaxConcurrentProcedures(Int.random(in: 1...(2 * width), using: &random))
      case 2: if Int.random(in: 0..<8, using: &random) == 0 { await queue.cancelAll() }
      case 3: _ = queue.snapshot()
      case 4: try? await queue.run(ledger.worker("run"))
      case 5: await hear()
      default: await Task.yield()
      }
    }
    await queue.setMaxConcurrentProcedures(width)
  }

  /// Watches the queue until one that is added then has finished: it is heard of as a whole.
  private func hear() async {
    let events = queue.events(bufferingNewest: .max)
    let probe = ledger.watch(queue.add(ledger.worker("heard").priority(.high)))
    handles.put(probe)
    var count = EventCount()
    for await event in events where event.id == probe.id {
      count.add(event)
      if count.finishes == 1 { break }
    }
    #expect(count.finishes == 1 && count.complaints.isEmpty, "seed \(seed): \(count.complaints)")
  }

  /// Shows that every run has ended once and as it had to, and that nothing is left.
  func expectAllEnded(_ added: Int, mayBeRefused: Bool) async {
    let all = handles.takeAll()
    let count = await OutcomeCount(of: all)
    #expect(all.count >= added && count.total == all.count && count.ignored == 0, "seed \(seed)")
    #expect(mayBeRefused || count.failed == 0, "seed \(seed): \(count)")
    let started = all.count { ledger.hasStarted($0.id) }
    #expect(
      started >= count.finished && started <= count.finished + count.cancelled, "seed \(seed): \(count), \(started)")
    let woken = decided.takeAll().filter { ledger.hasStarted($0) }
    #expect(woken.isEmpty, "seed \(seed): these have started after they had been cancelled")
    await queue.waitUntilIdle()
    let snapshot = queue.snapshot()
    #expect(snapshot.slotsInUse == 0 && snapshot.procedures.isEmpty, "seed \(seed): \(snapshot)")
    await ledger.expectNothingLeft(seed)
  }
}
