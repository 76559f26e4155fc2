public import ProcedureKit

extension ProcedureQueue {
  /// Runs a program on the queue and returns the lines of its outputs as they arrive.
  ///
  /// ```swift
  /// for try await line in queue.lines(of: ProcessProcedure("log"), input: ProcessRequest("journalctl", ["-f"])) {
  ///   print(line.text)
  /// }
  /// ```
  ///
  /// The procedure is added to the queue when the first line is requested. If the caller is slow to take lines, the program has to wait.
  /// After the last line, the sequence throws the procedure's error, if there is one.
  ///
  /// Leaving the loop early cancels the procedure without waiting for it to end. If the iterating task is cancelled, the procedure is
  /// cancelled, too, and the loop waits for it to end. A body that iterates over the lines holds no slot while it is waiting for a line.
  ///
  /// - Parameters:
  ///   - procedure: The procedure that runs the program. Its ``ProcessProcedure/onLine`` is called before each line is returned.
  ///   - input: The request to start the program.
  /// - Returns: The lines of both outputs, in the order in which they were read. Each iteration over the sequence runs the program again.
  public nonisolated func lines(
    of procedure: ProcessProcedure, input: ProcessRequest
  ) -> some AsyncSequence<ProcessLine, any Error> & Sendable {
    ProcessLines(queue: self, procedure: procedure, request: input)
  }
}

/// The lines of a program. Each iteration runs the program again.
private struct ProcessLines: AsyncSequence, Sendable {
  let queue: ProcedureQueue
  let procedure: ProcessProcedure
  let request: ProcessRequest

  func makeAsyncIterator() -> Iterator { Iterator(lines: self) }

  struct Iterator: AsyncIteratorProtocol {
    let lines: ProcessLines
    private var flow: LineFlow?

    init(lines: ProcessLines) { self.lines = lines }

    mutating func next() async throws -> ProcessLine? {
      let current = flow ?? LineFlow(lines.procedure, lines.request, on: lines.queue)
      flow = current
      return try await current.next()
    }
  }
}
