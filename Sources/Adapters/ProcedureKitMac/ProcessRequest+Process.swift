#if canImport(AppKit) && os(macOS)
  public import Foundation
  internal import ProcedureKit
  public import ProcedureKitProcess

  extension ProcessRequest {
    /// Creates the request that stands for a configured `Process` of Foundation, as code for the original's `ProcessProcedure` has one.
    ///
    /// Pipes and handlers are not taken over: the procedure reads both outputs itself.
    ///
    /// - Parameter process: The process, which is not started.
    public init(_ process: Process) {
      self.init(
        SystemText(process.executableURL?.path ?? ""), (process.arguments ?? []).map { SystemText($0) },
        environment: process.environment.map { variables in
          Dictionary(uniqueKeysWithValues: variables.map { (SystemText($0), SystemText($1)) })
        },
        workingDirectory: process.currentDirectoryURL.map { SystemText($0.path) })
    }
  }
#endif
