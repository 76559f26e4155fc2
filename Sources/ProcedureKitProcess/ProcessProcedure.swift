public import ProcedureKit

/// A procedure that starts a program, waits until it has ended, and returns its output.
///
/// ```swift
/// let compile = ProcessProcedure("compile").timeout(.seconds(60)).retry(.immediate, maxAttempts: 2)
/// let result = try await queue.run(compile, input: ProcessRequest("cc", ["-c", "kitten.c"]))
/// ```
///
/// Both outputs are read while the program is running, so a full pipe does not stop the program. At most ``outputLimit`` bytes of each are
/// kept. An output ends when the last process that holds it ends, or when it has been silent for ``gracePeriod`` after the end of the
/// program, so a silent process that the program leaves behind does not delay the procedure.
///
/// *Cancelling* sends SIGTERM once to the program and the processes that it has started (its process group, which is a new one), and
/// SIGKILL after ``gracePeriod``. The procedure finishes when the program has ended, and its outputs have ended or the grace period is
/// over; the remaining processes in its group are then killed. A suspended program is resumed so that it receives the signal.
///
/// A body that waits for a program keeps its slot, so the width of the queue limits the number of programs. The thread of
/// ``EventLoopExecutor`` reads their outputs and waits for them to end. On systems where processes have no descriptors (Linux before 5.3,
/// and macOS), a small thread waits for each program.
///
/// A program inherits only the three standard descriptors. On Linux, with a glibc older than 2.34 or with musl, it also inherits
/// descriptors that other code has opened without `O_CLOEXEC`, as Foundation's `FileHandle` does.
///
/// A program starts in a new session, which has no terminal. Pressing Ctrl-C does not interrupt the program: cancel the queue to stop it. A
/// program that opens `/dev/tty`, for example to ask for a password, gets an error: pass the answer through the standard input, an
/// environment variable or a file.
///
/// While a process ignores SIGCHLD, which it can inherit from its parent, the system does not keep the statuses of the programs that it
/// started. Starting a program therefore restores the default action for the signal, which has no other effect.
public struct ProcessProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// How many bytes of each output are kept. Later bytes are read, counted and dropped.
  public var outputLimit = 16 << 20
  /// How long a program may take to end after SIGTERM, and how long its outputs may be silent after the program has ended.
  public var gracePeriod: Duration = .seconds(5)
  /// The clock that measures the grace period.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// Returns whether a status is a success. If not, the procedure fails with ``ProcessError/Kind-swift.struct/uncleanExit``.
  ///
  /// The default accepts the exit status 0.
  public var acceptsStatus: @Sendable (ProcessStatus) -> Bool = \.isSuccess
  /// Called when the program has started, with an object that can suspend, resume and signal it.
  public var onLaunch: (@Sendable (ProcessControl) -> Void)?
  /// Called and awaited for each line of both outputs, one at a time: a slow function slows the program down.
  ///
  /// The result still contains the bytes. To get the lines as a sequence, see `queue.lines(of:input:)`.
  public var onLine: (@Sendable (ProcessLine) async -> Void)?

  /// Creates a procedure.
  public init(_ name: String = "process") {
    self.name = name
  }

  /// Starts the program, and waits until it has ended.
  ///
  /// - Throws: ``ProcessError``. A cancellation does not cause an error of its own: the procedure is cancelled.
  public func execute(_ request: ProcessRequest) async throws -> ProcessResult {
    try ProcedureContext.checkCancellation()
    let process = try LaunchedProcess(request, clock: clock, gracePeriod: gracePeriod)
    onLaunch?(process.control)
    let result = await ProcedureContext.withCancellationHandler {
      await process.collect(limit: outputLimit, onLine)
    } onCancel: {
      process.stop()
    }
    try ProcedureContext.checkCancellation()
    guard let result else { throw ProcessError(.statusLost, request) }
    guard acceptsStatus(result.status) else { throw ProcessError(.uncleanExit, request, result: result) }
    return result
  }
}
