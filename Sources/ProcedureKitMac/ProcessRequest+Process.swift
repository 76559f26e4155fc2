#if canImport(AppKit) && os(macOS)
  public import Foundation
  public import ProcedureKitProcess

  extension ProcessRequest {
    /// Creates the request that stands for a configured `Process` of Foundation, as code for the original's `ProcessProcedure` has one.
    ///
    /// Pipes and handlers are not taken over: the procedure reads both outputs itself.
    ///
    /// - Parameter process: The process, which is not started.
    public init(_ process: Process) {
      self.init(
        process.executableURL?.path ?? "", process.arguments ?? [], environment: process.environment,
        workingDirectory: process.currentDirectoryURL?.path)
    }
  }
#endif
