#if canImport(AppKit) && os(macOS)
  public import Foundation
  internal import ProcedureKit
  public import ProcedureKitProcess

  extension ProcessRequest {
    /// Creates a request from a configured Foundation `Process`.
    ///
    /// This initializer is for code that was written for the `ProcessProcedure` of ProcedureKit 5.
    ///
    /// Pipes and handlers are ignored, because the procedure reads standard output and standard error itself.
    ///
    /// - Parameter process: The process. The initializer does not start it.
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
