#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  public import ProcedureKit
  import UIKit

  /// A procedure that opens a URL in its default app, for example a web page in the browser.
  public struct OpenURL: Procedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the URL. Cancellation has no effect once the system has started opening the URL.
    ///
    /// - Throws: ``OpenURLError`` if no app could open the URL.
    public func execute(_ url: URL) async throws {
      guard await Self.open(url) else { throw OpenURLError(url: url) }
    }

    @MainActor fileprivate static func open(_ url: URL) async -> Bool {
      await UIApplication.shared.open(url, options: [:])
    }
  }

  /// A procedure that opens this app's settings in the Settings app.
  public struct OpenSettings: InputlessProcedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the settings. Cancellation has no effect once the system has started opening the settings.
    ///
    /// - Throws: ``OpenURLError`` if the settings could not be opened.
    public func execute() async throws {
      let address = await MainActor.run { UIApplication.openSettingsURLString }
      guard let url = URL(string: address) else { return }
      guard await OpenURL.open(url) else { throw OpenURLError(url: url) }
    }
  }

  /// An error that is thrown when no app can open a URL.
  public struct OpenURLError: Error, CustomStringConvertible, LocalizedError {
    /// The URL that could not be opened.
    public let url: URL

    /// A sentence that describes the failure.
    public var description: String { "no app could open \(url)" }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
  }
#endif
