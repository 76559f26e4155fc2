public import ProcedureKit

/// A procedure that starts a program, waits for its end, and returns what the program has written.
///
/// ```swift
/// let compile = ProcessProcedure("compile").timeout(.seconds(60)).retry(.immediate, maxAttempts: 2)
/// let result = try await queue.run(compile, input: ProcessRequest("cc", ["-c", "kitten.c"]))
/// ```
///
/// Both outputs are read while the program runs, so that a full pipe stops no program. At most ``outputLimit`` bytes of each
/// are kept. The output ends when the last process that holds it ends, or when nothing more comes for ``gracePeriod`` after the
/// end of the program: a silent process that the program leaves behind does not keep the procedure.
///
/// *Cancelling* sends SIGTERM once to the program and to the processes that it has started (its process group, which is
/// a new one), and SIGKILL after ``gracePeriod``. The procedure finishes when the program has ended, and its outputs have, or
/// the grace period has passed; what is left of its group is killed then. A suspended program is resumed for that.
///
/// A body that waits for a program keeps its slot, so that the width of the queue bounds the programs. The thread of ``EventLoopExecutor`` reads and awaits all of them; where
/// processes have no descriptors (before Linux 5.3, and on the Mac), a small thread awaits each end.
/// A program inherits the three standard descriptors only; on Linux, with an older C library than glibc 2.34 or with musl, also those that
/// other code has opened without `O_CLOEXEC`, as Foundation's `FileHandle` does.
/// A program starts in a new session, which has no terminal. An interrupt from the keyboard does not reach the program: cancel the queue for it. A
/// program that opens `/dev/tty`, to ask for a password for example, gets an error at once: pass the answer by the standard input, a variable or a file.
/// While a process ignores SIGCHLD, the system forgets how its programs have ended. A process can inherit that from its parent. Starting a program
/// sets the default action instead, which has no effect besides.
public struct ProcessProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// How many bytes of each output are kept. What comes after is read, counted and dropped.
  public var outputLimit = 16 << 20
  /// How long a program may take to end after SIGTERM, and how long its outputs may be silent after the end of the program.
  public var gracePeriod: Duration = .seconds(5)
  /// The clock of the grace period.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// Whether a status is a success; otherwise the procedure fails with ``ProcessError/Kind-swift.struct/uncleanExit``. The default
  /// accepts the exit status 0.
  public var acceptsStatus: @Sendable (ProcessStatus) -> Bool = \.isSuccess
  /// Called when the program has started, with its id and the means to suspend it.
  public var onLaunch: (@Sendable (ProcessControl) -> Void)?
  /// Called for each line of both outputs, one after the other, and awaited: a slow function slows the program down. The
  /// result holds the bytes all the same. See `queue.lines(of:input:)` for a sequence.
  public var onLine: (@Sendable (ProcessLine) async -> Void)?

  /// Creates a procedure.
  public init(_ name: String = "process") {
    self.name = name
  }

  /// Starts the program, and waits for its end.
  ///
  /// - Throws: ``ProcessError``. A cancel throws nothing by itself: the procedure is cancelled.
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
