import Dispatch
import Foundation
import ProcedureKit
import Synchronization

/// Tracing that is enabled by an environment variable.
public enum Diagnostics {
  private static let recorder = Mutex<TraceRecorder?>(nil)

  /// Traces every queue in the process if the environment variable `PROCEDURE_TRACE` names a file; otherwise, does nothing.
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
  /// Call this function before you create any queues. Queues that already exist are not traced, except for `ProcedureQueue.shared`. The
  /// trace is completed when the process exits, even if it calls `exit`. A process that is killed leaves a trace that viewers can still
  /// open. If the trace cannot be written, an error is logged. For details, see ``TraceRecorder``.
  ///
  /// A second call has no effect.
  public static func start() {
    // `getenv` is used because Foundation's environment contains only values that are valid UTF-8.
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
      // The lock must not be held here, because the log can call the user's code.
      ProcedureLog.shared.log(level: .error, "PROCEDURE_TRACE: \(error)")
      return
    }
    guard let new else { return }
    ProcedureQueue.observeQueues { new.record($0) }
    atexit { Diagnostics.finish() }
  }

  /// Completes the trace when the process ends.
  private static func finish() {
    guard let recorder = recorder.withLock({ $0 }) else { return }
    let finished = DispatchSemaphore(value: 0)
    // This thread does not belong to Swift's thread pool, so it can be blocked here. If the pool itself is blocked, the process ends with
    // an incomplete trace.
    _ = ReaderTask.start {
      do {
        try await recorder.finish()
      } catch {
        ProcedureLog.shared.log(level: .error, "PROCEDURE_TRACE: \(error)")
      }
      finished.signal()
    }
    _ = finished.wait(timeout: .now() + 5)
  }
}
