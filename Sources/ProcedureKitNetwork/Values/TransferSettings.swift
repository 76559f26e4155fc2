#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The settings that all network procedures have in common, whether they load, download or upload.
///
/// ```swift
/// var settings = TransferSettings()
/// settings.sizeLimit = 1 << 20
/// let load = NetworkDataProcedure("load", settings)
/// ```
public struct TransferSettings: Sendable {
  /// The maximum size of the response body after decompression, in bytes. If the body is larger, the transfer fails.
  public var sizeLimit: Int64 = 16 << 20
  /// A closure that returns whether a status is considered a success. If it returns `false`, the procedure fails with
  /// ``NetworkError/Kind-swift.struct/unacceptableStatus``.
  public var acceptsStatus: @Sendable (HTTPStatusCode) -> Bool = { _ in true }
  /// The policy that determines which redirects are followed.
  public var redirects = RedirectPolicy()
  /// A closure that is called with the next request before the transfer follows a redirect that ``redirects`` allows.
  ///
  /// If the closure throws an error, the transfer ends, and the procedure fails with that error. Use the closure to refuse hosts, or to
  /// send the next request yourself.
  public var onRedirect: (@Sendable (URLRequest) async throws -> Void)?
  /// Whether the procedure reports the transferred bytes as its progress.
  ///
  /// An upload whose length is known reports the bytes of the request body. Any other transfer reports the bytes of the response body, if
  /// the length of that body is known.
  ///
  /// If the body of another procedure calls this procedure directly, without a queue, the bytes are reported as the progress of the other
  /// procedure. If the other procedure performs several transfers, or does other work, set this property to `false`, and report the
  /// progress yourself.
  public var reportsProgress = true
  /// A closure that is called at the beginning of each body, and after each piece is sent or received. The calls do not overlap, but can be
  /// made on any thread. The closure must return quickly.
  public var onProgress: (@Sendable (NetworkProgress) -> Void)?
  /// The transport that sends the request.
  public var transport: any HTTPTransport = DefaultHTTPTransport.shared

  /// Creates the settings for loading and uploading, which allow response bodies of up to 16 MiB and any status.
  public init() {}

  /// The settings for downloading, which allow response bodies of up to 4 GiB and require a status from 200 to 299.
  public static var download: TransferSettings {
    var settings = TransferSettings()
    settings.sizeLimit = 4 << 30
    settings.acceptsStatus = \.isSuccess
    return settings
  }

  /// Makes an attempt. If it throws a ``NetworkError``, the header fields that the redirect policy lists as credentials are removed from
  /// the error.
  func hidingCredentials<R>(_ attempt: () async throws -> R) async throws -> R {
    do {
      return try await attempt()
    } catch let error as NetworkError {
      throw error.hiding(redirects.credentialHeaders)
    }
  }
}
