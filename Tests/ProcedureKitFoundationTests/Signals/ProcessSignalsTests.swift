import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Synchronization
import Testing
import TestingProcedureKit

/// Tests signals that end the process if they are not received. The effect of a signal applies to the process, so the tests run one after
/// another.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProcessSignalsTests {
  private func send(_ signal: ProcessSignal) { kill(getpid(), signal.rawValue) }

  /// Returns the number of a signal's effect. The usual effect has the number 0.
  private func effect(of signal: ProcessSignal) -> Int {
    var action = sigaction()
    sigaction(signal.rawValue, nil, &action)
    #if canImport(Darwin)
      return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
    #else
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    #endif
  }

  @Test("A signal that arrives before the first iteration is not lost")
  func early() async {
    let signals = ProcessSignals(.user1, .user2)
    send(.user1)
    var iterator = signals.makeAsyncIterator()
    #expect(await iterator.next() == .user1)
    send(.user2)
    #expect(await iterator.next() == .user2)
    #expect(signals.first == .user1)
  }

  @Test("Each sequence receives every signal")
  func several() async {
    let (one, other) = (ProcessSignals(.user1), ProcessSignals(.user1))
    send(.user1)
    for signals in [one, other] {
      var iterator = signals.makeAsyncIterator()
      #expect(await iterator.next() == .user1)
    }
  }

  @Test("A signal has its previous effect after the last sequence is released or stopped, but not before")
  func restored() async {
    #expect(effect(of: .user1) == 0)
    var first: ProcessSignals? = ProcessSignals(.user1)
    let second = ProcessSignals(.user1)
    withExtendedLifetime(first) { #expect(effect(of: .user1) != 0) }
    first = nil
    #expect(effect(of: .user1) != 0)
    second.stop()
    #expect(effect(of: .user1) == 0)
    second.stop()
    var iterator = second.makeAsyncIterator()
    #expect(await iterator.next() == nil)
    let again = ProcessSignals(.user1)
    send(.user1)
    var next = again.makeAsyncIterator()
    #expect(await next.next() == .user1)
  }

  @Test(
    "A signal that is ignored when the sequence is created stays ignored, as nohup and background jobs of a shell require",
    arguments: [ProcessSignal.hangUp, .interrupt, .quit, .terminate, .user2])
  func ignored(_ ignored: ProcessSignal) async {
    signal(ignored.rawValue, SIG_IGN)
    defer { signal(ignored.rawValue, SIG_DFL) }
    let before = effect(of: ignored)
    let signals = ProcessSignals(ignored, .user1)
    #expect(effect(of: ignored) == before)
    send(ignored)
    send(.user1)
    var iterator = signals.makeAsyncIterator()
    #expect(await iterator.next() == .user1 && signals.first == .user1)
    signals.stop()
    #expect(effect(of: ignored) == before)
  }

  @Test("A signal that was ignored before the process chose to receive it is received")
  func ignoredBefore() async {
    signal(SIGUSR2, SIG_IGN)
    signal(SIGUSR2, SIG_DFL)
    let signals = ProcessSignals(.user2)
    send(.user2)
    var iterator = signals.makeAsyncIterator()
    #expect(await iterator.next() == .user2)
  }

  @Test("The function is called with the number of signals so far, while all threads of the pool are blocked")
  func blockedPool() async {
    let counts = Mutex([Int]())
    let (received, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let signals = ProcessSignals(.user1) { signal, count in
      counts.withLock { $0.append(count) }
      received.signal()
    }
    let width = ProcessInfo.processInfo.activeProcessorCount
    await withTaskGroup { group in
      // One task sends the signal. The others, as many as the pool has threads, wait for it.
      group.addTask {
        for _ in 0..<2 {
          self.send(.user1)
          self.wait(for: received)
        }
        for _ in 1..<width { release.signal() }
      }
      for _ in 1..<width { group.addTask { self.wait(for: release) } }
    }
    #expect(counts.withLock { $0 } == [1, 2])
    #expect(signals.first == .user1)
  }

  private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

  @Test(
    "The first signal cancels the operation, whenever it arrives, and the value of the operation is returned",
    arguments: [true, false])
  func cancelling(isEarly: Bool) async {
    let signals = ProcessSignals(.user1)
    if isEarly {
      send(.user1)
      var iterator = signals.makeAsyncIterator()
      _ = await iterator.next()
    }
    let wasCancelled = await signals.cancelling {
      if !isEarly { kill(getpid(), SIGUSR1) }
      try? await Task.sleep(for: .seconds(3_600))
      return Task.isCancelled
    }
    #expect(wasCancelled && signals.first == .user1)
  }

  @Test("Without a signal, the operation's error is thrown; cancelling the caller cancels the operation")
  func caller() async {
    struct Failure: Error {}
    let signals = ProcessSignals(.user1)
    await #expect(throws: Failure.self) { try await signals.cancelling { throw Failure() } }
    let task = Task {
      try await signals.cancelling { try await Task.sleep(for: .seconds(3_600)) }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(signals.first == nil)
  }

  @Test("Cancelling the task that waits for a signal ends the iteration")
  func cancelledConsumer() async {
    let signals = ProcessSignals(.user1)
    let consumer = Task {
      var iterator = signals.makeAsyncIterator()
      return await iterator.next()
    }
    consumer.cancel()
    #expect(await consumer.value == nil)
  }

  @Test(
    "A service ends at the first signal, even one that arrived before it ran; after that, the signal has its usual effect",
    arguments: [true, false])
  func service(isEarly: Bool) async throws {
    let queue = ProcedureQueue("jobs")
    let service = ProcedureQueueService(queue, until: .signals(.user1, .user2))
    if isEarly { send(.user2) }
    let job = queue.add(
      ProcedureTask("job") {
        if !isEarly { kill(getpid(), SIGUSR2) }
        return 1
      })
    try await service.run()
    #expect(try await job.value == 1)
    #expect(await queue.add(ProcedureTask {}).outcome.procedureError?.kind == .queueShutDown)
    #expect(effect(of: .user2) == 0)
  }

  @Test("Cancelling a service that waits for a signal cancels its procedures")
  func cancelledService() async throws {
    let queue = ProcedureQueue("jobs")
    let service = ProcedureQueueService(queue, until: .signals(.user1))
    let job = queue.add(ProcedureTask("job") { try await Task.sleep(for: .seconds(3_600)) })
    let run = Task { try await service.run() }
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(await job.outcome.isCancelled)
    // The service still exists, but no longer receives signals.
    withExtendedLifetime(service) { #expect(effect(of: .user1) == 0) }
  }
}
