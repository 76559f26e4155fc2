import Dispatch
import Foundation
import ProcedureKit
import Synchronization

/// Traces a program by an environment variable.
public enum Diagnostics {
  private static let recorder = Mutex<TraceRecorder?>(nil)

  /// Traces every queue of the process if the environment variable `PROCEDURE_TRACE` names a file; otherwise does nothing.
  ///
  /// ```swift
  /// @main struct Tool {
  ///   static func main() async throws {
  ///     Diagnostics.start()
  ///     // …
  ///   }
  /// }
  /// ```
  ///
  /// ```console
  /// $ PROCEDURE_TRACE=trace.json ./tool
  /// ```
  ///
  /// Call this function at the beginning of the program: queues that were made before are not traced, but for
  /// `ProcedureQueue.shared`. The trace is completed when the process exits, also by `exit`; one that is killed leaves a
  /// trace that viewers open. See ``TraceRecorder``. A trace that cannot be written is told to the log, and changes nothing else.
  ///
  /// A second call has no effect.
  public static func start() {
    // Foundation's environment has no value that is not UTF-8.
    guard let value = getenv("PROCEDURE_TRACE"), value.pointee != 0 else { return }
    start(tracingTo: SystemText(cString: value))
  }

  private static func start(tracingTo path: SystemText) {
    let new: TraceRecorder?
    do {
      new = try recorder.withLock { current in
        guard current == nil else { return nil }
        let new = try TraceRecorder(path: path)
        current = new
        return new
      }
    } catch {
      // Outside of the lock, since a log is the user's.
      ProcedureLog.shared.error("PROCEDURE_TRACE: \(error)")
      return
    }
    guard let new else { return }
    ProcedureQueue.observeQueues { new.record($0) }
    atexit { Diagnostics.finish() }
  }

  /// Completes the trace at the end of the process.
  private static func finish() {
    guard let recorder = recorder.withLock({ $0 }) else { return }
    let finished = DispatchSemaphore(value: 0)
    // This thread is not of Swift's pool, and may wait here. If the pool is blocked, the process ends without the trace's end.
    _ = ReaderTask.start {
      do {
        try await recorder.finish()
      } catch {
        ProcedureLog.shared.error("PROCEDURE_TRACE: \(error)")
      }
      finished.signal()
    }
    _ = finished.wait(timeout: .now() + 5)
  }
}
