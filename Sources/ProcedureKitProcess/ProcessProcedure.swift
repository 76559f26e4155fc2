public import ProcedureKit

/// A procedure that starts a program, waits for it to end, and returns its output.
///
/// ```swift
/// let compile = ProcessProcedure("compile").timeout(.seconds(60)).retry(.immediate, maxAttempts: 2)
/// let result = try await queue.run(compile, input: ProcessRequest("cc", ["-c", "kitten.c"]))
/// ```
///
/// Standard output and standard error are both read while the program is running, so a full pipe does not block the program. At most
/// ``outputLimit`` bytes of each output are kept. An output ends when no process has it open any longer. If the program has ended and left
/// other processes behind, reading also ends when the outputs have been silent for ``gracePeriod``.
///
/// The program and the processes that it starts form a new process group. *Cancelling* the procedure sends SIGTERM once to this group, and
/// SIGKILL after ``gracePeriod``. A suspended program is resumed so that it receives the signal. The procedure finishes once the program
/// has ended and either its outputs have ended or the grace period has expired. Any remaining processes in the group are then killed.
///
/// The body keeps its slot while it is waiting for the program, so the width of the queue limits the number of programs. The thread of
/// ``EventLoopExecutor`` reads the outputs of all programs, and waits for the programs to end. On systems without process descriptors
/// (macOS, and Linux before 5.3), an additional thread with a small stack waits for each program.
///
/// A program inherits only the three standard descriptors. On Linux with musl, or with glibc before 2.34, it also inherits descriptors that
/// other code opened without `O_CLOEXEC`, as Foundation's `FileHandle` does.
///
/// A program starts in a new session without a terminal, so pressing Ctrl-C does not interrupt it. To stop the program, cancel the
/// procedure or its queue. If a program opens `/dev/tty`, for example to ask for a password, it gets an error. Pass the answer through
/// standard input, an environment variable or a file instead.
///
/// If a process ignores SIGCHLD, possibly because it inherited this setting from its parent, the system does not keep the statuses of the
/// programs that the process starts. Starting a program therefore restores the default action for this signal, which has no other effect.
public struct ProcessProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// The maximum number of bytes to keep from each output. Any additional bytes are read, counted and discarded.
  public var outputLimit = 16 << 20
  /// How long a program is given to end after SIGTERM, and how long its outputs are allowed to be silent after the program ends.
  public var gracePeriod: Duration = .seconds(5)
  /// The clock that measures the grace period.
  public var clock: any Clock<Duration> = ContinuousClock()
  /// A closure that returns whether a status is considered a success. If it returns `false`, the procedure fails with
  /// ``ProcessError/Kind-swift.struct/uncleanExit``.
  ///
  /// By default, only the exit status 0 is considered a success.
  public var acceptsStatus: @Sendable (ProcessStatus) -> Bool = \.isSuccess
  /// A closure that is called when the program starts, with an object that can suspend, resume and signal the program.
  public var onLaunch: (@Sendable (ProcessControl) -> Void)?
  /// A closure that is called for each line of both outputs. Each call ends before the next one starts. If the closure is slow, the program
  /// has to wait.
  ///
  /// The bytes of the lines also appear in the result. To get the lines as a sequence, use `queue.lines(of:input:)`.
  public var onLine: (@Sendable (ProcessLine) async -> Void)?

  /// Creates a procedure.
  public init(_ name: String = "process") {
    self.name = name
  }

  /// Starts the program and waits for it to end.
  ///
  /// - Throws: ``ProcessError`` if the program cannot be started, or if its status is lost or not accepted. If the procedure is cancelled,
  ///   the outcome is a cancellation, regardless of the program's status.
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
