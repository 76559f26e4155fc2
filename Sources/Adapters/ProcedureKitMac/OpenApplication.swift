#if canImport(AppKit) && os(macOS)
  public import AppKit
  public import ProcedureKit

  /// A procedure that opens an application with a user interface, and returns the running application.
  ///
  /// Programs without a user interface are procedures of `ProcedureKitProcess`.
  public struct OpenApplication: Procedure {
    /// Whether the application comes to the front.
    public var activates = true
    /// Whether another instance is started if the application is running already.
    public var createsNewInstance = false
    /// The arguments of a new instance. The system passes none to an application that is running, or from a sandbox.
    public var arguments: [String] = []

    /// Creates the procedure.
    public init() {}

    /// Opens the application at a place. A cancel that comes later has no effect.
    ///
    /// - Parameter place: The place of the application's bundle.
    /// - Returns: The application, which can be asked to end.
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

    /// Opens the address. A cancel that comes later has no effect.
    ///
    /// - Returns: The application that has opened the address.
    /// - Throws: The error of the system.
    public func execute(_ url: URL) async throws -> NSRunningApplication {
      try await NSWorkspace.shared.open(url, configuration: NSWorkspace.OpenConfiguration())
    }
  }
#endif
