import Dispatch
import ProcedureKit
import Testing

/// The code of the guide *Blocking work*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct BlockingWorkGuide {
  final class BlockingExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(label: String) {
      queue = DispatchQueue(label: label, attributes: .concurrent)
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test("Reading on threads of its own")
  func reading() async throws {
    let readSlowly = ProcedureTask("read") { (name: String) in name.count }
    var configuration = ProcedureQueue.Configuration("disk", maxConcurrentProcedures: 4)
    configuration.executor = BlockingExecutor(label: "disk")
    let disk = ProcedureQueue(configuration)
    let size = try await disk.run(readSlowly, input: "kitten.ppm")
    #expect(size == 10)
  }
}
