#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  /// A procedure that opens an application with a user interface, and returns the running application.
  ///
  /// Programs without a user interface are procedures of `ProcedureKitProcess`.
  public struct OpenApplication: Procedure {
    /// Whether the application is activated.
    public var activates = true
    /// Whether another instance is started if the application is running already.
    public var createsNewInstance = false
    /// The arguments of a new instance. The system passes no arguments to a running application, or from a sandbox.
    public var arguments: [String] = []

    /// Creates the procedure.
    public init() {}

    /// Opens the application at a URL. Later cancellation has no effect.
    ///
    /// - Parameter place: The URL of the application's bundle.
    /// - Returns: The running application.
    /// - Throws: The error of the system.
    public func execute(_ place: URL) async throws -> NSRunningApplication {
      let configuration = NSWorkspace.OpenConfiguration()
      configuration.activates = activates
      configuration.createsNewApplicationInstance = createsNewInstance
      configuration.arguments = arguments
      return try await NSWorkspace.shared.openApplication(at: place, configuration: configuration)
    }
  }

  /// A procedure that opens an address or a file in the application that is responsible for it.
  public struct OpenURL: Procedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the address. Later cancellation has no effect.
    ///
    /// - Returns: The application that has opened the address.
    /// - Throws: The error of the system.
    public func execute(_ url: URL) async throws -> NSRunningApplication {
      try await NSWorkspace.shared.open(url, configuration: NSWorkspace.OpenConfiguration())
    }
  }
#endif
