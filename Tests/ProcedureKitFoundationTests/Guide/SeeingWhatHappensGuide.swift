import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Testing

/// The code of the guide *Seeing what happens* that needs ProcedureKitFoundation, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct SeeingWhatHappensGuide {
  @Test("A procedure reports to Foundation's Progress")
  func progress() async throws {
    let (rest, go) = AsyncStream.makeStream(of: Void.self)
    let handle = ProcedureQueue("albums").add(ProcedureTask("album") { for await _ in rest {} })
    let whole = Progress(totalUnitCount: 10)
    whole.addChild(handle.makeFoundationProgress(), withPendingUnitCount: 8)
    #expect(whole.fractionCompleted == 0)
    go.finish()
    try await handle.value
  }
}
