import TestingProcedureKit
import XCTest

/// The part of the guide *Testing your procedures* about XCTest.
final class UploadTests: XCTestCase {
  func testThatAnUploadCanBeCancelled() async throws {
    try await exploreSchedules(200) { env in
      let queue = env.makeQueue()
      let probe = ProbeProcedure("upload")
      let handle = queue.add(probe)
      try await probe.waitUntilStarted()
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      env.check(probe.cancellationCount == 1)
      await queue.shutDown()
    }
  }
}
