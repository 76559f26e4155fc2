import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

extension Int: BroadcastEvent {}

@Suite(.timeLimit(.atDepth)) struct EventBroadcasterTests {
  @Test(
    "If 1,000 subscribers come and go in any order, the remaining ones read everything, and the others read nothing",
    arguments: 0..<5)
  func comeAndGo(seed: UInt64) async {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let broadcaster = EventBroadcaster<Int>()
    var subscriptions: [EventSubscription<Int>?] = (0..<1_000).map { _ in
      broadcaster.subscribe()
    }
    var firsts = [Int](repeating: 0, count: subscriptions.count)
    for event in 0..<50 {
      var effects: [EventEffect] = []
      broadcaster.send(event, &effects)
      #expect(effects.isEmpty)
      for _ in 0..<30 {
        let index = random.below(subscriptions.count)
        let isThere = subscriptions[index] != nil
        subscriptions[index] = isThere ? nil : broadcaster.subscribe()
        firsts[index] = event + 1
      }
    }
    broadcaster.close()
    for (subscription, first) in zip(subscriptions, firsts) {
      guard let subscription else { continue }
      var events: [Int] = []
      while let event = await subscription.next() { events.append(event) }
      #expect(events == Array(first..<50))
    }
    #expect(!broadcaster.isObserved)
  }

  @Test("An event is buffered without copying the events before it")
  func buffering() async {
    let broadcaster = EventBroadcaster<Int>()
    let subscriptions = [broadcaster.subscribe(), broadcaster.subscribe()]
    var effects: [EventEffect] = []
    // With a copy for each event, this loop would move 2.5 terabytes.
    let count = 400_000
    for event in 0..<count { broadcaster.send(event, &effects) }
    broadcaster.close()
    for subscription in subscriptions {
      var next = 0
      while let event = await subscription.next(), event == next { next += 1 }
      #expect(next == count)
    }
    #expect(effects.isEmpty)
  }

  @Test("Two readers of one stream miss nothing: an event that one has taken and not read remains for the other")
  func twoReaders() async {
    for _ in 0..<TestDepth.size(100_000) {
      let broadcaster = EventBroadcaster<Int>()
      let subscription = broadcaster.subscribe()
      let events = await withTaskGroup(of: Int?.self) { readers in
        for _ in 0..<2 { readers.addTask { await subscription.next() } }
        var effects: [EventEffect] = []
        broadcaster.send(1, &effects)
        broadcaster.send(2, &effects)
        for effect in effects { effect.perform() }
        broadcaster.close()
        return await readers.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(events) == [1, 2])
    }
  }

  private struct Failure: Error {
    let payload: LastLook
  }

  @Test("A reader that leaves while it receives events releases its unread events outside all locks")
  func leavingWhileTold() async {
    let queue = ProcedureQueue("q")
    let failing = ProcedureTask { throw Failure(payload: LastLook { [weak queue] in _ = queue?.snapshot() }) }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        for _ in 0..<TestDepth.size(100_000) { try? await queue.run(failing) }
      }
      tasks.addTask {
        for _ in 0..<TestDepth.size(100_000) {
          _ = queue.events(bufferingNewest: 3)
          await Task.yield()
        }
      }
    }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("The error in an event is released as soon as the event has been read, even if many other events are unread")
  func readValuesAreLetGoOf() async {
    let queue = ProcedureQueue("q")
    let lettings = Atomic(0)
    let events = queue.events
    for _ in 0..<2 {
      _ = try? await queue.run(
        ProcedureTask { throw Failure(payload: LastLook { lettings.add(1, ordering: .relaxed) }) })
    }
    var iterator = events.makeAsyncIterator()
    #expect(lettings.load(ordering: .relaxed) == 0)
    while let event = await iterator.next() {
      if event.kind == .didFinish { break }
    }
    #expect(lettings.load(ordering: .relaxed) == 1)
    while let event = await iterator.next() {
      if event.kind == .didFinish { break }
    }
    #expect(lettings.load(ordering: .relaxed) == 2)
  }

  @Test("A subscriber that has left without reading retains no event, and events that others retain are not affected")
  func unreadValuesAreLetGoOf() async {
    let queue = ProcedureQueue("q")
    let lettings = Atomic(0)
    var events: AsyncStream<ProcedureEvent>? = queue.events
    var others: AsyncStream<ProcedureEvent>? = queue.events
    _ = try? await queue.run(
      ProcedureTask { throw Failure(payload: LastLook { lettings.add(1, ordering: .relaxed) }) })
    events = nil
    #expect(events == nil && lettings.load(ordering: .relaxed) == 0)
    others = nil
    #expect(others == nil && lettings.load(ordering: .relaxed) == 1)
  }

  @Test("An event has the step with which it was created, and all properties of that step")
  func steps() {
    struct Broken: Error {}
    let outcomes: [ProcedureOutcome<Void>] = [
      .finished(()), .failed(Broken()), .cancelled(reason: nil), .cancelled(reason: Broken()), .ignored(by: "online"),
    ]
    let child = ProcedureIdentity(id: .reserve(), name: "child")
    let plain: [ProcedureEvent.Step] =
      [
        .didAttach, .willExecute(attempt: 1), .willExecute(attempt: .max), .didExecute(attempt: 2),
        .retrying(attempt: 2, delay: .seconds(1), error: Broken()), .didCancel(reason: nil),
        .didCancel(reason: Broken()), .willProduce(child), .didProduce(child), .reused(by: "cache"),
        .gap(lostCount: 3), .didAwait(child), .didRequest(child),
      ] + outcomes.map { .willFinish($0) } + outcomes.map { .didFinish($0) }
    let contents: [ProcedureEvent.Content] =
      plain.map { .init(step: $0) } + [
        .init(step: .didAttach, dependencies: [child.id]), .init(step: .didAttach, collection: "map"),
        .init(step: .willExecute(attempt: 1), slot: 4), .init(step: .willExecute(attempt: 1), slot: 4, slotWait: 7),
        .init(step: .willExecute(attempt: 1), executionCause: .versionChanged),
        .init(step: .didExecute(attempt: 1), slot: 4), .init(step: .didAwait(child), slot: 2, slotWait: 7),
        .init(step: .didFinish(.finished(())), metrics: ProcedureMetrics(attempts: 2)),
      ]
    let parent = ProcedureID.reserve()
    for content in contents {
      let subject = ProcedureEvent.Subject(id: child.id, name: "run", attempt: 3, parent: parent, isNode: true)
      let event = ProcedureEvent(of: subject, at: .init(nanoseconds: 5), content)
      #expect("\(content.step)".hasPrefix("\(event.kind)") && "\(event.step)".hasPrefix("\(event.kind)"))
      #expect("\(event)".hasPrefix("\(child.id) run \(event.kind)"))
      #expect(event.parent == parent && event.graph == parent)
      #expect(event.slot == (content.slot < 0 ? nil : Int(content.slot)))
      #expect(event.slotWait == (content.slotWait < 0 ? nil : .nanoseconds(content.slotWait)))
      #expect(event.dependencies == content.dependencies && event.collection == content.collection)
      #expect(event.executionCause == content.executionCause && event.metrics == content.metrics)
      // Each of the other properties is available for the steps that have it, and for no others.
      var (attempt, outcome, error, reason): (Int, String?, Bool, Bool) = (3, nil, false, false)
      switch content.step {
      case .willExecute(let number), .didExecute(let number): attempt = Int(Int32(clamping: number))
      case .retrying(let number, _, _): (attempt, error) = (number, true)
      case .willFinish(let end), .didFinish(let end):
        outcome = "\(end)"
        if case .failed = end { error = true }
        if case .cancelled(_?) = end { reason = true }
      case .didCancel(let cause): reason = cause != nil
      default: #expect("\(event.step)" == "\(content.step)")
      }
      #expect(event.attempt == attempt && event.outcome.map { "\($0)" } == outcome)
      #expect((event.error is Broken) == error && (event.reason is Broken) == reason)
    }
  }

  @Test("An event without a cause, a wait or an error has no details, and takes 64 bytes")
  func size() {
    let steps: [ProcedureEvent.Step] = [
      .didAttach, .willExecute(attempt: 1), .didExecute(attempt: 1), .willFinish(.finished(())),
      .didFinish(.finished(())),
    ]
    let subject = ProcedureEvent.Subject(id: .reserve(), name: "run")
    for step in steps {
      let event = ProcedureEvent(of: subject, at: .init(nanoseconds: 5), .init(step: step, slot: 4, slotWait: 0))
      #expect(event.details == nil, "\(event)")
    }
    #expect(MemoryLayout<ProcedureEvent>.stride == 64)
  }
}
