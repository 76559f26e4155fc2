#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  public import ProcedureKit
  import UIKit

  /// A procedure that opens an address in the program that is responsible for it: a web page in the browser, for example.
  public struct OpenURL: Procedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the address. Later cancellation has no effect.
    ///
    /// - Throws: ``OpenURLError`` if no program opens the address.
    public func execute(_ url: URL) async throws {
      guard await Self.open(url) else { throw OpenURLError(url: url) }
    }

    @MainActor fileprivate static func open(_ url: URL) async -> Bool {
      await UIApplication.shared.open(url, options: [:])
    }
  }

  /// A procedure that opens the settings of this program in the *Settings* app.
  public struct OpenSettings: InputlessProcedure {
    /// Creates the procedure.
    public init() {}

    /// Opens the settings. Later cancellation has no effect.
    ///
    /// - Throws: ``OpenURLError`` if the settings could not be opened.
    public func execute() async throws {
      let address = await MainActor.run { UIApplication.openSettingsURLString }
      guard let url = URL(string: address) else { return }
      guard await OpenURL.open(url) else { throw OpenURLError(url: url) }
    }
  }

  /// No program has opened an address.
  public struct OpenURLError: Error, CustomStringConvertible {
    /// The address.
    public let url: URL

    /// The failure in a sentence.
    public var description: String { "no program has opened \(url)" }
  }
#endif
