import Synchronization
import TestSupport
import Testing

@testable import ProcedureKit

extension Int: BufferedEvent {}

/// Three events in one.
private struct Portion: BufferedEvent {
  let first: Int

  let partCount = 3

  func part(_ index: Int) -> Int { first + index }
}

@Suite struct EventBroadcasterTests {
  @Test(
    "1,000 subscribers come and go in any order: who is left reads everything, who has gone nothing", arguments: 0..<5)
  func comeAndGo(seed: UInt64) async {
    print("seed \(seed)")
    var random = SeededRandom(seed: seed)
    let broadcaster = EventBroadcaster<Int>()
    var subscriptions: [EventSubscription<Int>?] = (0..<1_000).map { _ in
      broadcaster.subscribe(waiting: { wait in await wait() })
    }
    var firsts = [Int](repeating: 0, count: subscriptions.count)
    for event in 0..<50 {
      var woken: [Waiter] = []
      broadcaster.send(event, &woken)
      #expect(woken.isEmpty)
      for _ in 0..<30 {
        let index = random.below(subscriptions.count)
        let isThere = subscriptions[index] != nil
        subscriptions[index] = isThere ? nil : broadcaster.subscribe(waiting: { wait in await wait() })
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

  @Test("Two who read one stream miss nothing: what one has taken and not read is there for the other")
  func twoReaders() async {
    for _ in 0..<TestDepth.size(100_000) {
      let broadcaster = EventBroadcaster<Int>()
      let subscription = broadcaster.subscribe(waiting: { wait in await wait() })
      let events = await withTaskGroup(of: Int?.self) { readers in
        for _ in 0..<2 { readers.addTask { await subscription.next() } }
        var woken: [Waiter] = []
        broadcaster.send(1, &woken)
        broadcaster.send(2, &woken)
        for waiter in woken { waiter.resume() }
        broadcaster.close()
        return await readers.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(events) == [1, 2])
    }
  }

  @Test(
    "What is several events in one is divided between several readers, in order, and nobody waits while some are left")
  func divided() async {
    for _ in 0..<20_000 {
      let broadcaster = EventBroadcaster<Portion>()
      let subscription = broadcaster.subscribe(waiting: { wait in await wait() })
      let read = await withTaskGroup(of: [Int].self) { readers in
        for _ in 0..<2 {
          readers.addTask {
            var numbers: [Int] = []
            while let number = await subscription.next() { numbers.append(number) }
            return numbers
          }
        }
        for first in [0, 3, 6] {
          var woken: [Waiter] = []
          broadcaster.send(Portion(first: first), &woken)
          for waiter in woken { waiter.resume() }
        }
        broadcaster.close()
        return await readers.reduce(into: []) { $0.append($1) }
      }
      #expect(read.allSatisfy { $0 == $0.sorted() })
      #expect(read.joined().sorted() == Array(0..<9))
    }
  }

  private struct Failure: Error {
    let payload: LastLook
  }

  @Test("A reader that goes while it is told lets go of what it has not read outside of all locks")
  func leavingWhileTold() async {
    let queue = ProcedureQueue("q")
    let failing = ProcedureTask { throw Failure(payload: LastLook { [weak queue] in _ = queue?.snapshot() }) }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        for _ in 0..<TestDepth.size(100_000) { try? await queue.run(failing) }
      }
      tasks.addTask {
        for _ in 0..<TestDepth.size(100_000) {
          _ = queue.events
          await Task.yield()
        }
      }
    }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("An error that an event tells of is let go of as soon as the event has been read, however much else is unread")
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
      if case .didFinish = event.kind { break }
    }
    #expect(lettings.load(ordering: .relaxed) == 1)
    while let event = await iterator.next() {
      if case .didFinish = event.kind { break }
    }
    #expect(lettings.load(ordering: .relaxed) == 2)
  }

  @Test("One who has gone without reading holds nothing of what was told, and what others hold is not touched")
  func unreadValuesAreLetGoOf() async {
    let queue = ProcedureQueue("q")
    let lettings = Atomic(0)
    var events: ProcedureEvents? = queue.events
    var others: ProcedureEvents? = queue.events
    _ = try? await queue.run(
      ProcedureTask { throw Failure(payload: LastLook { lettings.add(1, ordering: .relaxed) }) })
    events = nil
    #expect(events == nil && lettings.load(ordering: .relaxed) == 0)
    others = nil
    #expect(others == nil && lettings.load(ordering: .relaxed) == 1)
  }

  @Test("What is told is what was reported: every kind of event, with what belongs to it")
  func kinds() {
    struct Broken: Error {}
    let outcomes: [ProcedureOutcome<Void>] = [
      .finished(()), .failed(Broken()), .cancelled(reason: nil), .cancelled(reason: Broken()), .ignored(by: "online"),
    ]
    let child = ProcedureIdentity(id: .reserve(), name: "child")
    let kinds: [ProcedureEvent.Kind] =
      [
        .didAttach, .willExecute(attempt: 1), .willExecute(attempt: .max), .didExecute(attempt: 2),
        .retrying(attempt: 2, delay: .seconds(1), error: Broken()), .didCancel(reason: nil),
        .didCancel(reason: Broken()), .willProduce(child), .didProduce(child),
      ] + outcomes.map { .willFinish($0) } + outcomes.map { .didFinish($0) }
    for kind in kinds {
      let event = ProcedureEvent(id: child.id, name: "run", instant: .init(nanoseconds: 5), kind: kind)
      #expect("\(event.kind)" == "\(kind)")
      #expect(ProcedureOccurrence(event).partCount == 1)
      #expect("\(ProcedureOccurrence(event).part(0))" == "\(event)")
    }
  }

  @Test("A step of a worker is told event by event: the end of one run, as it was, and then the start of the next")
  func succession() {
    struct Broken: Error {}
    let (first, next) = (ProcedureID.reserve(), ProcedureIdentity(id: .reserve(), name: "next"))
    for outcome in [ProcedureOutcome<Void>.finished(()), .failed(Broken()), .ignored(by: "online")] {
      let finished = ProcedureEvent(id: first, name: "first", instant: .init(nanoseconds: 5), kind: .didFinish(outcome))
      let ends = ["willFinish", "didFinish"].map { "\(first) first \($0)(\(outcome))" }
      let start = ["\(next.id) next willExecute(attempt: 1)"]
      for (attempt, told) in [(nil, []), (7, ["\(first) first didExecute(attempt: 7)"])] as [(Int?, [String])] {
        let step = ProcedureOccurrence(finished: finished, attempt: attempt, successor: next)
        let parts = (0..<step.partCount).map { step.part($0) }
        #expect(parts.map { "\($0)" } == told + ends + start)
        #expect(parts.allSatisfy { $0.instant == finished.instant })
      }
    }
  }
}
