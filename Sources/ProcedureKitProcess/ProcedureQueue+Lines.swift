public import ProcedureKit

extension ProcedureQueue {
  /// Adds a program to the queue, and returns the lines of its outputs as they arrive.
  ///
  /// ```swift
  /// for try await line in queue.lines(of: ProcessProcedure("log"), input: ProcessRequest("journalctl", ["-f"])) {
  ///   print(line.text)
  /// }
  /// ```
  ///
  /// The program starts when the caller asks for the first line. The program has to wait while more than a few lines have not been taken.
  /// After the last line, the error of the procedure is thrown, if there is one. Leaving the loop early, or cancelling the iterating task,
  /// cancels the procedure; only cancelling the task also waits for the procedure to end. A body that iterates over the lines releases its
  /// slot while it waits.
  ///
  /// - Parameters:
  ///   - procedure: The procedure that runs the program. Its ``ProcessProcedure/onLine`` is called before each line is returned.
  ///   - input: The program to start.
  /// - Returns: The lines of both outputs, in the order in which they were read. Each iteration starts the program again.
  public nonisolated func lines(
    of procedure: ProcessProcedure, input: ProcessRequest
  ) -> some AsyncSequence<ProcessLine, any Error> & Sendable {
    ProcessLines(queue: self, procedure: procedure, request: input)
  }
}

/// The lines of a program, which is started by each iteration.
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
