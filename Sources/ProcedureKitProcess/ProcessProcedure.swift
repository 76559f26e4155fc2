public import ProcedureKit

/// A procedure that starts a program, waits for its end, and returns its output.
///
/// ```swift
/// let compile = ProcessProcedure("compile").timeout(.seconds(60)).retry(.immediate, maxAttempts: 2)
/// let result = try await queue.run(compile, input: ProcessRequest("cc", ["-c", "kitten.c"]))
/// ```
///
/// Both outputs are read while the program runs, so that a full pipe does not stop the program. At most ``outputLimit`` bytes of each
/// are kept. An output ends when the last process that holds it ends, or when it has been silent for ``gracePeriod`` after the
/// end of the program: a silent process that the program leaves behind does not delay the procedure.
///
/// *Cancelling* sends SIGTERM once to the program and to the processes that it has started (its process group, which is
/// a new one), and SIGKILL after ``gracePeriod``. The procedure finishes when the program has ended, and its outputs have ended or
/// the grace period is over; the remaining processes of its group are then killed. A suspended program is resumed to receive the signal.
///
/// A body that waits for a program keeps its slot, so that the width of the queue limits the number of programs. The thread of
/// ``EventLoopExecutor`` reads and awaits all of them; where processes have no descriptors (before Linux 5.3, and on the Mac), a small thread
/// awaits each end.
///
/// A program inherits only the three standard descriptors; on Linux, with a C library older than glibc 2.34 or with musl, also descriptors that
/// other code has opened without `O_CLOEXEC`, as Foundation's `FileHandle` does.
///
/// A program starts in a new session, which has no terminal. An interrupt from the keyboard does not reach the program: cancel the queue to stop
/// it. A program that opens `/dev/tty`, for example to ask for a password, gets an error: pass the answer by the standard input, a variable or a
/// file.
///
/// While a process ignores SIGCHLD, which it can inherit from its parent, the system does not keep the status of its ended programs. Starting a
/// program therefore sets the default action, which has no other effect.
public struct ProcessProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// The number of bytes of each output that are kept. Later bytes are read, counted and dropped.
  public var outputLimit = 16 << 20
  /// The time that a program may take to end after SIGTERM, and that its outputs may be silent after the end of the program.
  public var gracePeriod: Duration = .seconds(5)
  /// The clock of the grace period.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// Returns whether a status is a success; otherwise the procedure fails with ``ProcessError/Kind-swift.struct/uncleanExit``.
  ///
  /// The default accepts the exit status 0.
  public var acceptsStatus: @Sendable (ProcessStatus) -> Bool = \.isSuccess
  /// Called when the program has started, with the control that can suspend it.
  public var onLaunch: (@Sendable (ProcessControl) -> Void)?
  /// Called and awaited for each line of both outputs, in sequence: a slow function slows the program down.
  ///
  /// The result still contains the bytes. See `queue.lines(of:input:)` for a sequence.
  public var onLine: (@Sendable (ProcessLine) async -> Void)?

  /// Creates a procedure.
  public init(_ name: String = "process") {
    self.name = name
  }

  /// Starts the program, and waits for its end.
  ///
  /// - Throws: ``ProcessError``. Cancellation causes no error of its own: the procedure is cancelled.
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
