import Dispatch
import ProcedureKit
import ProcedureKitFoundation
import Testing
import TestingProcedureKit

/// The code of the guide *Blocking work*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct BlockingWorkGuide {
  /// A connection to a server that never responds.
  final class Connection: Sendable {
    struct Closed: Error {}

    private let end = DispatchSemaphore(value: 0)
    private let didBlock: @Sendable () -> Void

    init(didBlock: @escaping @Sendable () -> Void) {
      self.didBlock = didBlock
    }

    func read() throws -> String {
      didBlock()
      end.wait()
      throw Closed()
    }

    func close() { end.signal() }
  }

  @Test("Blocking reads execute on separate threads")
  func reading() async throws {
    let readSlowly = ProcedureTask("read") { (name: String) in name.count }
    var configuration = ProcedureQueue.Configuration("disk", maxConcurrentProcedures: 4)
    configuration.executor = BlockingExecutor("disk", maxThreads: 4)
    let disk = ProcedureQueue(configuration)
    let size = try await disk.run(readSlowly, input: "kitten.ppm")
    #expect(size == 10)
  }

  @Test("The cancellation handler interrupts a blocking call")
  func interrupting() async throws {
    var configuration = ProcedureQueue.Configuration("connections", maxConcurrentProcedures: 4)
    configuration.executor = BlockingExecutor("connections", maxThreads: 4)
    let queue = ProcedureQueue(configuration)
    let (blocked, continuation) = AsyncStream<Void>.makeStream()
    let receive = ProcedureTask("receive") { (connection: Connection) in
      try await withTaskCancellationHandler {
        try connection.read()  // blocks until the server responds
      } onCancel: {
        connection.close()  // called on another thread: `read` throws
      }
    }
    let handle = queue.add(receive, input: Connection { continuation.yield() })
    for await _ in blocked { break }
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    await queue.shutDown()
  }
}
