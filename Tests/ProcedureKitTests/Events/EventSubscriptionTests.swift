import Synchronization
import TestSupport
import Testing

@testable import ProcedureKit

/// An event in several parts.
private struct Portion: BufferedEvent {
  let number: Int

  var partCount: Int { number % 3 + 1 }

  func part(_ index: Int) -> Int { number * 4 + index }
}

@Suite struct EventSubscriptionTests {
  private func subscribe(_ broadcaster: EventBroadcaster<Int>, past: ContiguousArray<Int> = []) -> EventSubscription<
    Int
  > {
    broadcaster.subscribe(replaying: past, waiting: { wait in await wait() })
  }

  private func send(_ events: Range<Int>, to broadcaster: EventBroadcaster<Int>) {
    var woken: [Waiter] = []
    for event in events { broadcaster.send(event, &woken) }
    for waiter in woken { waiter.resume() }
  }

  @Test("Who subscribes to what is over reads the past, and then the end; nothing that is sent after the end is read")
  func afterTheEnd() async {
    let broadcaster = EventBroadcaster<Int>()
    let early = subscribe(broadcaster)
    send(0..<2, to: broadcaster)
    broadcaster.close()
    #expect(!broadcaster.isObserved)
    let late = subscribe(broadcaster, past: [7, 8])
    #expect(!broadcaster.isObserved)
    send(2..<4, to: broadcaster)
    broadcaster.close()
    for (subscription, expected) in [(early, [0, 1]), (late, [7, 8])] {
      var read: [Int] = []
      while let event = await subscription.next() { read.append(event) }
      #expect(read == expected)
      #expect(await subscription.next() == nil)
    }
  }

  @Test("Who waits is found wherever its buffer has moved to: by an event, by being cancelled, and by the end")
  func movedWhileWaiting() async {
    for round in 0..<TestDepth.count(2_000) {
      let broadcaster = EventBroadcaster<Int>()
      var before: [EventSubscription<Int>?] = (0..<3).map { _ in subscribe(broadcaster) }
      let subscriptions = (0..<3).map { _ in subscribe(broadcaster) }
      let readers = subscriptions.map { subscription in Task { await subscription.next() } }
      for _ in 0..<(round % 5) { await Task.yield() }
      // The last takes the place of the first, and so on.
      for index in before.indices { before[index] = nil }
      readers[0].cancel()
      #expect(await readers[0].value == nil)
      if round % 2 == 0 {
        send(5..<6, to: broadcaster)
        for reader in readers[1...] { #expect(await reader.value == 5) }
        #expect(subscriptions[0].nextFetched() == nil)
        #expect(await subscriptions[0].next() == 5)
      } else {
        broadcaster.close()
        for reader in readers[1...] { #expect(await reader.value == nil) }
      }
    }
  }

  @Test("What an event tells of is let go of outside of the lock of those who read, and of the queue's")
  func letGoOfOutsideOfTheLockOfReaders() async {
    struct Failure: Error { let payload: LastLook }
    let queue = ProcedureQueue("q")
    let events = Box<ProcedureEvents?>(queue.events)
    let lettings = Atomic(0)
    let look: @Sendable () -> Void = { [weak queue] in
      lettings.add(1, ordering: .relaxed)
      // Each of these takes a lock.
      _ = events.update { $0 }?.reader.nextFetched()
      _ = queue?.events
    }
    for _ in 0..<20 { _ = try? await queue.run(ProcedureTask { throw Failure(payload: LastLook(look)) }) }
    var iterator = events.update { $0 }?.makeAsyncIterator()
    for _ in 0..<40 { _ = await iterator?.next() }
    #expect(lettings.load(ordering: .relaxed) > 0)
    iterator = nil
    let last = events.update { $0.take() }
    _ = consume last
    #expect(lettings.load(ordering: .relaxed) == 20)
  }

  @Test("A queue goes away while somebody waits for its events, and that ends the wait")
  func queueGoesWhileWatched() async {
    for _ in 0..<TestDepth.count(500) {
      var queue: ProcedureQueue? = ProcedureQueue("q")
      weak let gone = queue
      let reader = Task { [events = queue?.events] in
        var count = 0
        if let events { for await _ in events { count += 1 } }
        return count
      }
      try? await queue?.run(ProcedureTask {})
      queue = nil
      #expect(await reader.value == 5)
      #expect(gone == nil)
    }
  }

  @Test(
    "Subscribers come, read with several tasks that are cancelled now and then, and go: each reads all that followed, in order",
    arguments: 0..<TestDepth.count(40, least: 8))
  func everythingAtOnce(seed: Int) async {
    let broadcaster = EventBroadcaster<Portion>()
    let sent = 200
    await withTaskGroup(of: Void.self) { tasks in
      for place in 0..<8 {
        tasks.addTask {
          for _ in 0..<((place * 7 + seed) % 30) { await Task.yield() }
          let subscription = broadcaster.subscribe(waiting: { wait in await wait() })
          let all = Box<[Int]>([])
          await withTaskGroup(of: Void.self) { readers in
            for _ in 0...(place % 3) {
              readers.addTask {
                var own: [Int] = []
                while let event = await subscription.next() { own.append(event) }
                #expect(own == own.sorted())
                let read = own
                all.update { $0 += read }
              }
            }
            if place % 2 == 0 {
              for _ in 0..<20 {
                let reader = Task { await subscription.next() }
                await Task.yield()
                reader.cancel()
                if let event = await reader.value { all.update { $0.append(event) } }
              }
            }
          }
          let read = all.update { $0.sorted() }
          guard let first = read.first else { return }
          var expected: [Int] = []
          for number in (first / 4)..<sent {
            let portion = Portion(number: number)
            for index in 0..<portion.partCount { expected.append(portion.part(index)) }
          }
          #expect(read == expected)
        }
      }
      tasks.addTask {
        for _ in 0..<200 {
          let first = broadcaster.subscribe(waiting: { wait in await wait() })
          let second = broadcaster.subscribe(waiting: { wait in await wait() })
          withExtendedLifetime(first) { _ = second.nextFetched() }
          await Task.yield()
        }
      }
      tasks.addTask {
        for number in 0..<sent {
          var woken: [Waiter] = []
          broadcaster.send(Portion(number: number), &woken)
          for waiter in woken { waiter.resume() }
          if number % 7 == 0 { await Task.yield() }
        }
        broadcaster.close()
      }
    }
    #expect(!broadcaster.isObserved)
  }
}
