import ProcedureKit
import Synchronization

/// An iteration over the lines of a program. When this object is deallocated, the procedure is cancelled.
final class LineFlow: Sendable {
  private let channel = LineChannel()
  private let handle: ProcedureHandle<ProcessResult>

  init(_ procedure: ProcessProcedure, _ request: ProcessRequest, on queue: ProcedureQueue) {
    var procedure = procedure
    let onLine = procedure.onLine
    procedure.onLine = { [channel] line in
      await onLine?(line)
      // The slot is released because the iterating task may need it to take the lines.
      if channel.send(line) {
        await ProcedureContext.withSlotReleased(waitingFor: "its reader") { await channel.waitForRoom() }
      }
    }
    handle = queue.add(procedure.onDidFinish { [channel] _ in channel.close() }, input: request)
  }

  deinit {
    handle.cancel()
    channel.close()
  }

  func next() async throws -> ProcessLine? {
    let line = await ProcedureContext.withCancellationHandler { [handle, channel] in
      await ProcedureContext.withSlotReleased(waitingFor: handle.name) { await channel.next() }
    } onCancel: { [handle, channel] in
      handle.cancel()
      // The program may be waiting for room in the buffer.
      channel.drop()
    }
    if let line { return line }
    _ = try await handle.result.get()
    return nil
  }
}

/// A small buffer for lines between a program and the iterating task. Cancellation does not end a wait, but `drop` and `close` do.
final class LineChannel: Sendable {
  private static let capacity = 64

  private struct Contents {
    var lines: [ProcessLine] = []
    var (isClosed, dropsLines) = (false, false)
    var reader: CheckedContinuation<ProcessLine?, Never>?
    var writer: CheckedContinuation<Void, Never>?

    var isFull: Bool { lines.count >= LineChannel.capacity && !isClosed && !dropsLines }
  }

  private let contents = Mutex(Contents())

  /// Adds a line. Returns whether the buffer is full.
  func send(_ line: ProcessLine) -> Bool {
    let (reader, isFull) = contents.withLock { contents -> (CheckedContinuation<ProcessLine?, Never>?, Bool) in
      if let reader = contents.reader.take() { return (reader, false) }
      if !contents.dropsLines { contents.lines.append(line) }
      return (nil, contents.isFull)
    }
    reader?.resume(returning: line)
    return isFull
  }

  /// Waits until there is room in the buffer.
  func waitForRoom() async {
    await withCheckedContinuation { writer in
      let mustWait = contents.withLock { contents in
        if contents.isFull { contents.writer = writer }
        return contents.isFull
      }
      if !mustWait { writer.resume() }
    }
  }

  /// Returns the next line; `nil` after the last one.
  func next() async -> ProcessLine? {
    await withCheckedContinuation { reader in
      let (answer, writer) = contents.withLock { contents -> (ProcessLine??, CheckedContinuation<Void, Never>?) in
        if !contents.lines.isEmpty {
          let line = contents.lines.removeFirst()
          return (.some(line), contents.writer.take())
        }
        if contents.isClosed { return (.some(nil), nil) }
        contents.reader = reader
        return (nil, nil)
      }
      writer?.resume()
      if let answer { reader.resume(returning: answer) }
    }
  }

  /// Ends the sequence of lines.
  func close() {
    let (reader, writer) = contents.withLock { contents in
      contents.isClosed = true
      return (contents.reader.take(), contents.writer.take())
    }
    reader?.resume(returning: nil)
    writer?.resume()
  }

  /// Discards all lines in the buffer, and all lines that arrive later.
  func drop() {
    let writer = contents.withLock { contents in
      contents.dropsLines = true
      contents.lines = []
      return contents.writer.take()
    }
    writer?.resume()
  }
}
