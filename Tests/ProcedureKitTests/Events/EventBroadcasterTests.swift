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
    var generator = Draws(seed: seed)
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
        let index = generator.below(subscriptions.count)
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
    for _ in 0..<100_000 {
      let subscriber = EventSubscriber<Int>()
      let events = await withTaskGroup(of: Int?.self) { readers in
        for _ in 0..<2 { readers.addTask { await subscriber.next() } }
        var woken: [Waiter] = []
        subscriber.append(1, &woken)
        subscriber.append(2, &woken)
        for waiter in woken { waiter.resume() }
        subscriber.close()
        return await readers.reduce(into: []) { $0.append($1) }
      }
      #expect(Set(events) == [1, 2])
    }
  }

  @Test(
    "What is several events in one is divided between several readers, in order, and nobody waits while some are left")
  func divided() async {
    for _ in 0..<20_000 {
      let subscriber = EventSubscriber<Portion>()
      let read = await withTaskGroup(of: [Int].self) { readers in
        for _ in 0..<2 {
          readers.addTask {
            var numbers: [Int] = []
            while let number = await subscriber.next() { numbers.append(number) }
            return numbers
          }
        }
        for first in [0, 3, 6] {
          var woken: [Waiter] = []
          subscriber.append(Portion(first: first), &woken)
          for waiter in woken { waiter.resume() }
        }
        subscriber.close()
        return await readers.reduce(into: []) { $0.append($1) }
      }
      #expect(read.allSatisfy { $0 == $0.sorted() })
      #expect(read.joined().sorted() == Array(0..<9))
    }
  }

  /// An event that looks at something locked when it is let go of.
  private final class Payload: Sendable {
    private let look: @Sendable () -> Void

    init(_ look: @escaping @Sendable () -> Void) {
      self.look = look
    }

    deinit { look() }
  }

  private struct Failure: Error {
    let payload: Payload
  }

  @Test("A reader that goes while it is told lets go of what it has not read outside of all locks")
  func leavingWhileTold() async {
    let queue = ProcedureQueue("q")
    let failing = ProcedureTask { throw Failure(payload: Payload { [weak queue] in _ = queue?.snapshot() }) }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        for _ in 0..<100_000 { try? await queue.run(failing) }
      }
      tasks.addTask {
        for _ in 0..<100_000 {
          _ = queue.events
          await Task.yield()
        }
      }
    }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  /// A generator of its own, so that a seed means the same everywhere.
  private struct Draws {
    private var state: UInt64

    init(seed: UInt64) {
      state = seed &* 2 + 1
    }

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
  }
}
