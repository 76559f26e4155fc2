#if canImport(AppKit) && os(macOS)
  public import Foundation
  internal import ProcedureKit
  public import ProcedureKitProcess

  extension ProcessRequest {
    /// Creates a request from a configured Foundation `Process`, as used by code written for the `ProcessProcedure` of the original
    /// framework.
    ///
    /// Pipes and handlers are ignored: the procedure reads both outputs itself.
    ///
    /// - Parameter process: The process. It is not started.
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
