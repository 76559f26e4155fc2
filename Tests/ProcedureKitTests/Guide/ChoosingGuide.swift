import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Choosing how to run*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ChoosingGuide {
  private struct TooLarge: Error {}

  private let resize = ProcedureTask("resize") { (side: Int) in
    if side > 1_000 { throw TooLarge() }
    return side
  }

  @Test("A queue runs two procedures at a time")
  func running() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let resize = resize
      async let small = queue.run(resize, input: 64)
      async let large = queue.run(resize, input: 512)
      let images = try await [small, large]
      env.check(images == [64, 512])
      await queue.shutDown()
    }
  }

  @Test("An added procedure returns a handle")
  func adding() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let send = ProcedureTask("send") { (name: String) in name.count }
      let upload = queue.add(send, input: "kitten.ppm")
      let note = queue.add(ProcedureTask("note") { (receipt: Int) in "sent as \(receipt)" }, from: upload)
      env.check(try await note.value == "sent as 10")
      await queue.shutDown()
    }
  }

  @Test(
    "The queue interrupts the body of an added procedure, and so does the task that waits for its value",
    arguments: [false, true])
  func interrupting(byQueue: Bool) async throws {
    let queue = ProcedureQueue("downloads")
    let fetch = ProcedureTask("fetch") { (name: String) in
      try await Task.sleep(for: .seconds(3_600))
      return name.count
    }
    let caller = Task {
      let download = queue.add(fetch, input: "kitten.ppm")
      let size = try await withTaskCancellationHandler {
        try await download.value
      } onCancel: {
        download.cancel()
      }
      return size
    }
    try await eventually { queue.snapshot().slotsInUse == 1 }
    if byQueue { queue.cancelAll() } else { caller.cancel() }
    await #expect(throws: CancellationError.self) { try await caller.value }
    await queue.shutDown()
  }

  @Test("A scope throws the first failure")
  func scope() async throws {
    try await withProcedureQueue("thumbnails", maxConcurrentProcedures: 4) { queue in
      for side in [64, 128, 512] { queue.add(resize, input: side) }
    }  // throws if one of them fails, after cancelling the others
    await #expect(throws: TooLarge.self) {
      try await withProcedureQueue { queue in _ = queue.add(resize, input: 5_000) }
    }
  }

  @Test("A failure that is not observed is logged")
  func unread() async throws {
    let (failures, continuation) = AsyncStream<String>.makeStream()
    let report: @Sendable (String) -> Void = { continuation.yield($0) }
    var configuration = ProcedureQueue.Configuration("mail", maxConcurrentProcedures: 2)
    configuration.onUnobservedFailure = { failure in report("\(failure.procedure.name): \(failure.error)") }
    let queue = ProcedureQueue(configuration)
    queue.add(resize, input: 5_000)
    var lines = failures.makeAsyncIterator()
    #expect(await lines.next() == "resize: TooLarge()")
  }
}
