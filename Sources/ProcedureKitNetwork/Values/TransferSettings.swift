#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// What loading, downloading and uploading have in common: the `settings` of the procedures of the network.
///
/// ```swift
/// var settings = TransferSettings()
/// settings.sizeLimit = 1 << 20
/// let load = NetworkDataProcedure("load", settings)
/// ```
public struct TransferSettings: Sendable {
  /// How many bytes the body of the response may have, decompressed. A longer body ends the transfer.
  public var sizeLimit: Int64 = 16 << 20
  /// Whether a status is a success; otherwise the procedure fails with ``NetworkError/Kind-swift.struct/unacceptableStatus``.
  public var acceptsStatus: @Sendable (HTTPStatusCode) -> Bool = { _ in true }
  /// Which redirects are followed.
  public var redirects = RedirectPolicy()
  /// Called before a redirect is followed, with the next request, which ``redirects`` allows. An error ends the transfer, and is the error of
  /// the procedure: a program can refuse hosts, or send the next request by itself.
  public var onRedirect: (@Sendable (URLRequest) async throws -> Void)?
  /// Whether the transferred bytes are the progress of the procedure: those of the request's body if the procedure uploads, otherwise
  /// those of the response's body. A length that is not known is not reported.
  ///
  /// A procedure that a body calls without a queue reports as the procedure around. A body with several transfers, or other work, sets
  /// `false` and reports by itself.
  public var reportsProgress = true
  /// Called at the beginning of each body and after each piece that was sent or received, one call after the other, on any thread; the
  /// function must return soon.
  public var onProgress: (@Sendable (NetworkProgress) -> Void)?
  /// The means to send the request.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared

  /// Creates the settings of loading and uploading: bodies up to 16 MiB, with any status.
  public init() {}

  /// The settings of downloading: bodies up to 4 GiB, with a status of 200 … 299.
  public static var download: TransferSettings {
    var settings = TransferSettings()
    settings.sizeLimit = 4 << 30
    settings.acceptsStatus = \.isSuccess
    return settings
  }

  /// Internal. Performs an attempt, whose errors do not hold the header fields that the policy names as credentials.
  func hidingCredentials<R>(_ attempt: () async throws -> R) async throws -> R {
    do {
      return try await attempt()
    } catch let error as NetworkError {
      throw error.hiding(redirects.credentialHeaders)
    }
  }
}
