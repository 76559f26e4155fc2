import Dispatch
import Foundation
import ProcedureKit
import Synchronization

/// An object that writes the lines of a trace to a file, in large chunks, on a separate dispatch queue.
///
/// The amount of unwritten data is limited, because the tasks that add lines have to wait while a chunk is being written. A slow disk can
/// therefore make the readers of feeds lose events, but it never slows down a queue.
final class TraceWriter: Sendable {
  typealias Output = @Sendable (Data) throws -> Void

  private struct State {
    var drawing = TraceDrawing()
    var isFlushPlanned = false
    var isClosed = false
    var error: (any Error)?
  }

  /// The number of bytes that are collected before they are written.
  static let pieceSize = 64 << 10
  /// The longest time that lines wait to be written if they do not fill a chunk.
  private static let patience = DispatchTimeInterval.milliseconds(200)

  private let state = Mutex(State())
  private let disk = DispatchQueue(label: "ProcedureKitDiagnostics.TraceWriter")
  private let output: Output

  /// Creates a writer.
  ///
  /// - Parameter output: A closure that appends bytes to the file. Only one thread at a time calls it.
  init(output: @escaping Output) {
    self.output = output
  }

  /// Calls `body`, which draws events, and then waits if a full chunk has to be written.
  func draw(_ body: @Sendable (inout TraceDrawing) -> Void) async {
    let isFull = state.withLock { state in
      guard !state.isClosed else { return false }
      body(&state.drawing)
      if state.drawing.lines.count >= Self.pieceSize { return true }
      planFlush(&state)
      return false
    }
    guard isFull else { return }
    await withCheckedContinuation { continuation in
      disk.async {
        self.flush()
        continuation.resume()
      }
    }
  }

  /// Schedules a write of the current lines, so that they are written even if no more lines follow.
  private func planFlush(_ state: inout State) {
    guard !state.isFlushPlanned, state.drawing.lines.count > 0 else { return }
    state.isFlushPlanned = true
    disk.asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.flush() }
  }

  /// Writes the current lines. This function is called on the dispatch queue.
  private func flush() {
    let (piece, writes) = state.withLock { state in
      state.isFlushPlanned = false
      return (state.drawing.lines.take(), state.error == nil)
    }
    // After an error, the file is incomplete, so nothing more is written.
    guard writes, !piece.isEmpty else { return }
    do {
      try output(Data(piece))
    } catch {
      state.withLock { $0.error = error }
    }
  }

  deinit {
    // Writes the remaining lines of a recorder that was deallocated before it was finished. No other reference to the writer exists.
    close()
    flush()
  }

  /// Closes the array and writes all remaining lines. Drawing has no effect afterwards.
  ///
  /// - Throws: The first error that occurred while writing, if any.
  func finish() throws {
    close()
    disk.sync { flush() }
    if let error = state.withLock({ $0.error }) { throw error }
  }

  private func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.drawing.lines.close()
      state.isClosed = true
    }
  }
}
