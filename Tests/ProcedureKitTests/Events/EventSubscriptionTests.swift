import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.atDepth)) struct EventSubscriptionTests {
  private func subscribe(_ broadcaster: EventBroadcaster<Int>, past: ContiguousArray<Int> = []) -> EventSubscription<
    Int
  > {
    broadcaster.subscribe(replaying: past)
  }

  private func send(_ events: Range<Int>, to broadcaster: EventBroadcaster<Int>) {
    var effects: [EventEffect] = []
    for event in events { broadcaster.send(event, &effects) }
    for effect in effects { effect.perform() }
  }

  @Test(
    "A subscriber to a finished stream reads the past events and the end; an event that is sent after the end is not read"
  )
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

  @Test("A waiting subscriber is found by an event, a cancellation and the end, even if its buffer has moved")
  func movedWhileWaiting() async {
    for round in 0..<TestDepth.count(2_000) {
      let broadcaster = EventBroadcaster<Int>()
      var before: [EventSubscription<Int>?] = (0..<3).map { _ in subscribe(broadcaster) }
      let subscriptions = (0..<3).map { _ in subscribe(broadcaster) }
      let readers = subscriptions.map { subscription in Task { await subscription.next() } }
      for _ in 0..<(round % 5) { await Task.yield() }
      // The last element takes the place of the first, and so on.
      for index in before.indices { before[index] = nil }
      readers[0].cancel()
      #expect(await readers[0].value == nil)
      if round % 2 == 0 {
        send(5..<6, to: broadcaster)
        for reader in readers[1...] { #expect(await reader.value == 5) }
        #expect(subscriptions[0].take() == 5)
        #expect(subscriptions[0].take() == nil)
      } else {
        broadcaster.close()
        for reader in readers[1...] { #expect(await reader.value == nil) }
      }
    }
  }

  @Test(
    "The user's values in an event are released outside all locks, whether the event is read, lost or never read",
    arguments: [4, .max])
  func releasedOutsideOfLocks(limit: Int) async {
    struct Failure: Error { let payload: LastLook }
    let queue = ProcedureQueue("q")
    let events = Box<AsyncStream<ProcedureEvent>?>(queue.events(bufferingNewest: limit))
    let releases = Atomic(0)
    let look: @Sendable () -> Void = { [weak queue] in
      releases.add(1, ordering: .relaxed)
      // Each of these calls acquires a lock.
      _ = queue?.snapshot()
      _ = queue?.events
    }
    for _ in 0..<20 { _ = try? await queue.run(ProcedureTask { throw Failure(payload: LastLook(look)) }) }
    #expect(releases.load(ordering: .relaxed) == (limit == 4 ? 19 : 0))
    var iterator = events.update { $0 }?.makeAsyncIterator()
    for _ in 0..<4 { _ = await iterator?.next() }
    iterator = nil
    let last = events.update { $0.take() }
    _ = consume last
    #expect(releases.load(ordering: .relaxed) == 20)
  }

  @Test(
    "A subscriber that is too slow loses the oldest events, and a gap in their place contains their number",
    arguments: 1..<9
  )
  func gaps(limit: Int) async throws {
    let queue = ProcedureQueue("q")
    let (bounded, all) = (queue.events(bufferingNewest: limit), queue.events)
    for round in 0..<10 { for _ in 0...round { try await queue.run(ProcedureTask("p") {}) } }
    await queue.shutDown()
    let complete = await all.reduce(into: []) { $0.append($1) }
    let read = await bounded.reduce(into: []) { $0.append($1) }
    #expect(complete.count == 275)
    let gap = try #require(read.first)
    #expect("\(gap)".hasSuffix(" gap(\(275 - limit))"))
    #expect(gap.name == "q" && !complete.contains { $0.id == gap.id })
    #expect(read.dropFirst().map(\.description) == complete.suffix(limit).map(\.description))
    #expect(gap.instant == read[1].instant)
  }

  @Test("A slow subscriber that reads in between gets each event or a gap that counts it, in order", arguments: 0..<20)
  func gapsBetween(seed: UInt64) async {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let broadcaster = EventBroadcaster<Int>()
    // A gap is a negative number.
    let subscription = broadcaster.subscribe(limit: EventLimit(newest: 5) { count, _ in -count })
    var (sent, next) = (0, 0)
    func read(_ event: Int) {
      if event < 0 { next -= event } else { #expect(event == next) }
      if event >= 0 { next += 1 }
    }
    for _ in 0..<1_000 {
      let count = random.below(8)
      send(sent..<(sent + count), to: broadcaster)
      sent += count
      for _ in 0..<random.below(8) { if let event = subscription.take() { read(event) } }
    }
    broadcaster.close()
    while let event = await subscription.next() { read(event) }
    #expect(next == sent)
  }

  @Test("A subscriber whose task is cancelled, or whose stream is dropped, is removed immediately")
  func forgotten() async {
    let queue = ProcedureQueue("q")
    let reader = Task { [events = queue.events] in
      for await _ in events {}
    }
    var dropped: AsyncStream<ProcedureEvent>? = queue.events
    #expect(queue.core.broadcaster.isObserved)
    reader.cancel()
    await reader.value
    #expect(dropped != nil && queue.core.broadcaster.isObserved)
    dropped = nil
    #expect(!queue.core.broadcaster.isObserved)
  }

  @Test("A queue can be released while a subscriber is waiting for its events, which ends the wait")
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
    "Subscribers that come and go, with several tasks that are sometimes cancelled, read all later events in order",
    arguments: 0..<TestDepth.count(40, least: 8))
  func everythingAtOnce(seed: Int) async {
    let broadcaster = EventBroadcaster<Int>()
    let sent = 200
    await withTaskGroup(of: Void.self) { tasks in
      for place in 0..<8 {
        tasks.addTask {
          for _ in 0..<((place * 7 + seed) % 30) { await Task.yield() }
          let subscription = broadcaster.subscribe()
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
          #expect(read == Array(first..<sent))
        }
      }
      tasks.addTask {
        for _ in 0..<200 {
          let first = broadcaster.subscribe()
          let second = broadcaster.subscribe()
          withExtendedLifetime(first) { _ = second.take() }
          await Task.yield()
        }
      }
      tasks.addTask {
        for number in 0..<sent {
          var effects: [EventEffect] = []
          broadcaster.send(number, &effects)
          for effect in effects { effect.perform() }
          if number % 7 == 0 { await Task.yield() }
        }
        broadcaster.close()
      }
    }
    #expect(!broadcaster.isObserved)
  }
}
