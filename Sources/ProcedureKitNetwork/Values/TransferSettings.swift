#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The settings that loading, downloading and uploading have in common: the `settings` of the network procedures.
///
/// ```swift
/// var settings = TransferSettings()
/// settings.sizeLimit = 1 << 20
/// let load = NetworkDataProcedure("load", settings)
/// ```
public struct TransferSettings: Sendable {
  /// The largest number of bytes in the body of the response, after decompression. A longer body ends the transfer.
  public var sizeLimit: Int64 = 16 << 20
  /// Returns whether a status is a success. If not, the procedure fails with ``NetworkError/Kind-swift.struct/unacceptableStatus``.
  public var acceptsStatus: @Sendable (HTTPStatusCode) -> Bool = { _ in true }
  /// Which redirects are followed.
  public var redirects = RedirectPolicy()
  /// Called before a redirect is followed, with the next request, after ``redirects`` has allowed it. If the function throws, the transfer
  /// ends and the procedure fails with that error. Use the function to refuse hosts, or to send the next request yourself.
  public var onRedirect: (@Sendable (URLRequest) async throws -> Void)?
  /// Whether the procedure reports the transferred bytes as its progress: those of the request's body if it uploads, otherwise those of the
  /// response's body. An unknown length is not reported.
  ///
  /// If a body calls the procedure directly, without a queue, the bytes are reported as the progress of the enclosing procedure. If a body
  /// performs several transfers, or other work as well, set the property to `false` and report the progress in the body.
  public var reportsProgress = true
  /// Called at the beginning of each body and after each piece that was sent or received. The calls do not overlap, but can be on any
  /// thread; the function must return quickly.
  public var onProgress: (@Sendable (NetworkProgress) -> Void)?
  /// The transport that sends the request.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared

  /// Creates the settings for loading and uploading: bodies of up to 16 MiB, and any status.
  public init() {}

  /// The settings for downloading: bodies of up to 4 GiB, and a status of 200 … 299.
  public static var download: TransferSettings {
    var settings = TransferSettings()
    settings.sizeLimit = 4 << 30
    settings.acceptsStatus = \.isSuccess
    return settings
  }

  /// Internal. Performs an attempt, and removes from its errors the header fields that the redirect policy lists as credentials.
  func hidingCredentials<R>(_ attempt: () async throws -> R) async throws -> R {
    do {
      return try await attempt()
    } catch let error as NetworkError {
      throw error.hiding(redirects.credentialHeaders)
    }
  }
}
