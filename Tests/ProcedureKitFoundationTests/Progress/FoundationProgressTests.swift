import Foundation
import ProcedureKit
import ProcedureKitFoundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct FoundationProgressTests {
  /// Waits until the object has the given progress. Foundation does not provide a way to wait for it.
  private func wait(for progress: Progress, _ fraction: Double) async throws {
    try await eventually { progress.fractionCompleted == fraction }
  }

  @Test(
    "Foundation's progress follows the procedure, even as a child of another progress, and ends with the procedure",
    .timeLimit(.minutes(10))
  )
  func mirrored() async throws {
    let (reports, report) = AsyncStream.makeStream(of: Double.self)
    let queue = ProcedureQueue("q")
    let handle = queue.add(
      ProcedureTask("work") {
        for await fraction in reports { ProcedureContext.current?.progress.report(fraction) }
      })
    let whole = Progress(totalUnitCount: 4)
    let mirror = handle.makeFoundationProgress()
    whole.addChild(mirror, withPendingUnitCount: 2)
    report.yield(0.5)
    try await wait(for: mirror, 0.5)
    try await wait(for: whole, 0.25)
    report.finish()
    try await handle.value
    try await wait(for: mirror, 1)
    #expect(mirror.isFinished)
  }

  @Test("Cancelling Foundation's progress cancels the procedure", .timeLimit(.minutes(10)))
  func cancelled() async throws {
    let (reports, _) = AsyncStream.makeStream(of: Double.self)
    let handle = ProcedureQueue("q").add(ProcedureTask("work") { for await _ in reports {} })
    handle.makeFoundationProgress().cancel()
    await #expect(throws: CancellationError.self) { try await handle.value }
  }
}
