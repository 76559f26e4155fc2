import Synchronization
import Testing

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct SpentEventTests {
  private struct Failure: Error { let number: Int }

  @Test(
    "Several readers of the events of failing runs read complete events, and can inspect them later", arguments: [1, 3])
  func whole(readers: Int) async {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let events = queue.events
    let runs = 6_000
    let handles = (0..<runs).map { number in
      queue.add(ProcedureTask("run") { if number % 3 == 0 { throw Failure(number: number) } })
    }
    handles[7].cancel()
    let read = await withTaskGroup(of: [ProcedureEvent].self) { tasks in
      for _ in 0..<readers {
        tasks.addTask {
          var own: [ProcedureEvent] = []
          for await event in events { own.append(event) }
          return own
        }
      }
      queue.resume()
      for handle in handles { _ = await handle.outcome }
      await queue.shutDown()
      return await tasks.reduce(into: []) { $0 += $1 }
    }
    var failures = 0
    for event in read {
      if event.kind == .didFinish, event.error is Failure { failures += 1 }
    }
    #expect(failures == runs / 3)
    #expect(read.count == 5 * runs - 1)
  }

  @Test(
    "The events after a burst of any size are read in order by every waiting subscriber",
    arguments: [16_383, 16_384, 16_385, 100_000])
  func bursts(count: Int) async {
    let broadcaster = EventBroadcaster<Int>()
    let subscription = broadcaster.subscribe()
    var next = 0
    for round in 0..<4 {
      var effects: [EventEffect] = []
      let size = round % 2 == 0 ? count : 3
      for event in next..<(next + size) { broadcaster.send(event, &effects) }
      for event in next..<(next + size) { #expect(await subscription.next() == event) }
      next += size
      let reader = Task { await subscription.next() }
      await Task.yield()
      for effect in effects { effect.perform() }
      effects = []
      broadcaster.send(next, &effects)
      for effect in effects { effect.perform() }
      #expect(await reader.value == next)
      next += 1
    }
    broadcaster.close()
    broadcaster.close()
    #expect(await subscription.next() == nil)
  }
}
