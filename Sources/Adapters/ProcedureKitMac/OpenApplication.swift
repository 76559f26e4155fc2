#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  /// A procedure that opens an app with a user interface and returns the running app.
  ///
  /// To run programs without a user interface, use the procedures in `ProcedureKitProcess`.
  public struct OpenApplication: Procedure {
    /// Whether the app becomes the active app.
    public var activates = true
    /// Whether another instance is started if the app is already running.
    public var createsNewInstance = false
    /// The arguments for a new instance. The system ignores them if no new instance is started, or if the calling app is sandboxed.
    public var arguments: [String] = []

    /// Creates the procedure.
    public init() {}

    /// Opens the app at a URL. Cancellation has no effect once the system has started opening the app.
    ///
    /// - Parameter place: The URL of the app's bundle.
    /// - Returns: The running app.
    /// - Throws: Any error from the system.
    public func execute(_ place: URL) async throws -> NSRunningApplication {
      let configuration = NSWorkspace.OpenConfiguration()
      configuration.activates = activates
      configuration.createsNewApplicationInstance = createsNewInstance
      configuration.arguments = arguments
      return try await NSWorkspace.shared.openApplication(at: place, configuration: configuration)
    }
  }

  /// A procedure that opens a URL or a file in its default app.
  public struct OpenURL: Procedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the URL. Cancellation has no effect once the system has started opening the URL.
    ///
    /// - Returns: The app that opened the URL.
    /// - Throws: Any error from the system.
    public func execute(_ url: URL) async throws -> NSRunningApplication {
      try await NSWorkspace.shared.open(url, configuration: NSWorkspace.OpenConfiguration())
    }
  }
#endif
