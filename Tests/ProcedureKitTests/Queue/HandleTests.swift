import TestSupport
import Testing

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct HandleTests {
  @Test("A value cannot be read while a hook may still turn it into a failure")
  func early() async throws {
    let (slot, seen) = (Box<ProcedureHandle<Int>?>(nil), Box<[Bool?]>([]))
    let queue = ProcedureQueue("q", isSuspended: true)
    let handle = queue.add(
      ProcedureTask("one") { 1 }.onWillFinish { outcome in
        let isThere = slot.value.map { $0.readyValue != nil }
        seen.update { $0.append(isThere) }
        if case .finished(1) = outcome { throw TestError() }
      })
    slot.update { $0 = handle }
    queue.resume()
    await #expect(throws: TestError()) { try await handle.value }
    #expect(seen.value == [false])
    #expect(handle.readyValue == nil)
  }

  @Test("An available value is read without a wait, and no other outcome is returned as a value")
  func ready() async throws {
    let queue = ProcedureQueue("q")
    let value = queue.add(ProcedureTask("one") { 1 })
    let nothing = queue.add(ProcedureTask("nothing") { () -> Int? in nil })
    let failure = queue.add(ProcedureTask("failure") { () -> Int in throw TestError() })
    let ignored = queue.add(
      ProcedureTask("ignored") { 1 }.condition(Condition("never") { false }.treatingErrorsAsUnsatisfied()))
    await queue.waitUntilIdle()
    #expect(value.readyValue == 1)
    #expect(nothing.readyValue == .some(nil))
    #expect(failure.readyValue == nil && ignored.readyValue == nil)
    #expect(try await nothing.value == nil)
    await #expect(throws: TestError()) { try await failure.value }
    #expect(try await value.catchingErrors().value.get() == 1)
  }

  @Test("A state tells whether the run has started, and whether it has finished")
  func states() {
    let started = ProcedureState.allCases.filter(\.hasStarted)
    #expect(started == [.executing, .pausing, .finishing, .finished])
    #expect(ProcedureState.allCases.filter(\.isFinished) == [.finished])
  }
}

extension ProcedureHandle {
  /// The value; `nil` if it cannot be read yet.
  fileprivate var readyValue: Output? { run.isFinished ? try? finishedValue() : nil }
}
