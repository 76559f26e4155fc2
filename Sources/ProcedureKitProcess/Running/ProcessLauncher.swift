import Foundation
import ProcedureKit

/// The functions that start programs with `posix_spawn`.
///
/// Foundation's `Process` is not suitable. On Linux with Swift 6.3.1, it does not report that a program has ended until all processes that
/// the program left behind have ended, too.
enum ProcessLauncher {
  /// A started program.
  struct Launch {
    let processIdentifier: Int32
    let output: OutputReader
    /// The reader of standard error; `nil` if standard error is merged into standard output.
    let errorOutput: OutputReader?
    fileprivate let poller: OutputPoller

    /// Calls `ended` when the program has ended and its available output has been read. The system does not reuse the ID of the process
    /// until `waitpid` is called.
    func awaitEnd(_ ended: @escaping @Sendable () -> Void) {
      let outputs = [output, errorOutput].compactMap { $0 }
      #if os(Linux)
        let descriptor = processDescriptor(processIdentifier)
        if descriptor >= 0, poller.awaitEnd(of: descriptor, outputs.map(\.output), ended) { return }
      #endif
      ProcessLauncher.awaitEnd(of: processIdentifier) {
        for output in outputs { output.programEnded() }
        ended()
      }
    }
  }

  /// Starts the requested program as the first process in a new session and process group.
  ///
  /// Signals that this process ignores have their default actions in the program.
  ///
  /// - Parameters:
  ///   - request: The program to start.
  ///   - inputFolder: The folder for the temporary file that contains the program's input.
  /// - Returns: The started program.
  /// - Throws: ``ProcessError`` if the program cannot be started.
  static func launch(
    _ request: ProcessRequest, inputFolder: URL = FileManager.default.temporaryDirectory
  ) throws -> Launch {
    let path = try ExecutablePath.find(request)
    ChildSignal.keepStatus()
    let input: Int32?
    do {
      input = try request.standardInput.flatMap { $0.isEmpty ? nil : try UnlinkedFile.containing($0, in: inputFolder) }
    } catch {
      throw ProcessError(.inputFailed, request, underlying: error)
    }
    defer { if let input { close(input) } }
    do {
      return try launch(request, path, input, EventLoopExecutor.shared)
    } catch let error as ProcessError {
      throw error
    } catch {
      throw ExecutablePath.problem(path, request, error) ?? ProcessError(.launchFailed, request, underlying: error)
    }
  }

  private static func launch(
    _ request: ProcessRequest, _ path: SystemText, _ input: Int32?, _ executor: EventLoopExecutor
  ) throws -> Launch {
    let poller = executor.poller
    let output = try PipeEnds()
    var errorOutput: PipeEnds?
    do {
      errorOutput = request.mergesErrorOutput ? nil : try PipeEnds()
      let errors = errorOutput ?? output
      let id = try spawn(path, request, [input ?? executor.emptyInput, output.writing, errors.writing])
      return Launch(
        processIdentifier: id, output: OutputReader(output, poller),
        errorOutput: errorOutput.map { OutputReader($0, poller) }, poller: poller)
    } catch {
      output.close()
      errorOutput?.close()
      throw error
    }
  }

  // MARK: The system

  /// Starts a program with the given standard descriptors.
  private static func spawn(
    _ path: SystemText, _ request: ProcessRequest, _ descriptors: [Int32]
  ) throws -> Int32 {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
      let closesOthers = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
      let closesOthers: Int16 = 0
    #endif
    try require(posix_spawn_file_actions_init(&actions))
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, descriptor) in descriptors.enumerated() {
      try require(posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target)))
    }
    #if os(Linux)
      try require(closeDescriptors(from: 3, &actions))
    #endif
    if let folder = request.workingDirectory {
      #if canImport(Darwin)
        try require(folder.withCString { posix_spawn_file_actions_addchdir_np(&actions, $0) })
      #else
        try require(folder.withCString { addChangeOfFolder(&actions, $0) })
      #endif
    }
    try require(posix_spawnattr_init(&attributes))
    defer { posix_spawnattr_destroy(&attributes) }
    var (defaults, blocked) = (sigset_t(), sigset_t())
    sigfillset(&defaults)
    sigemptyset(&blocked)
    try require(posix_spawnattr_setsigdefault(&attributes, &defaults))
    try require(posix_spawnattr_setsigmask(&attributes, &blocked))
    // A new group alone would be a background group of the terminal, so the system would stop a program that reads from `/dev/tty`, and
    // nothing would resume it. A new session has no terminal, so opening `/dev/tty` fails.
    #if canImport(Darwin)
      let newSession = Int16(POSIX_SPAWN_SETSID)
    #else
      let newSession: Int16 = 0x80  // POSIX_SPAWN_SETSID, which is missing from the Swift module of the C library
    #endif
    let flags = newSession | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK)
    try require(posix_spawnattr_setflags(&attributes, flags | closesOthers))

    var arguments = CStringList(capacity: 1 + request.arguments.count)
    let inherited = request.environment == nil ? InheritedEnvironment.entries : []
    var environment = CStringList(capacity: request.environment?.count ?? inherited.count)
    guard arguments.append(request.executable), request.arguments.allSatisfy({ arguments.append($0) }),
      inherited.allSatisfy({ environment.append($0) }),
      (request.environment ?? [:]).allSatisfy({ environment.append($0.key, value: $0.value) })
    else { throw ProcessError(.invalidText, request) }
    var id: pid_t = 0
    try arguments.withPointers { arguments in
      try environment.withPointers { environment in
        try require(path.withCString { posix_spawn(&id, $0, &actions, &attributes, arguments, environment) })
      }
    }
    return id
  }

  private static func require(_ code: Int32) throws {
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
  }

  // MARK: The end

  /// Waits for a process on a separate thread, for systems without process descriptors.
  static func awaitEnd(of id: Int32, ended: @escaping @Sendable () -> Void) {
    let thread = Thread {
      var information = siginfo_t()
      while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      ended()
    }
    thread.name = "ProcedureKitProcess \(id)"
    thread.stackSize = 128 << 10
    thread.start()
  }
}
