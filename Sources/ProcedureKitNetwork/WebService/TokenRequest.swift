import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request that is sent to a token endpoint as a form (RFC 6749, sections 4.4.2 and 6).
struct TokenRequest {
  let configuration: OAuthConfiguration
  let refreshToken: String?

  var urlRequest: URLRequest {
    var fields: [(String, String)] = []
    if let refreshToken {
      fields = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
    } else {
      fields = [("grant_type", "client_credentials")]
    }
    if !configuration.scopes.isEmpty { fields.append(("scope", configuration.scopes.joined(separator: " "))) }
    var request = URLRequest(url: configuration.tokenURL)
    request.httpMethod = "POST"
    request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    if let basicCredentials {
      request.setValue("Basic \(basicCredentials)", forHTTPHeaderField: "Authorization")
    } else {
      fields.append(("client_id", configuration.clientID))
      if let secret = configuration.clientSecret { fields.append(("client_secret", secret)) }
    }
    let form = fields.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&")
    request.httpBody = Data(form.utf8)
    return request
  }

  /// Returns text from the server with this request's secrets replaced by an ellipsis. A server may repeat the secrets when it explains why
  /// it refused the request.
  func hidingSecrets(in text: String) -> String {
    let secrets = [refreshToken, configuration.clientSecret].compactMap(\.self)
    let sent = secrets + secrets.map(Self.encoded) + (basicCredentials.map { [$0] } ?? [])
    return sent.filter { !$0.isEmpty }.reduce(text) { $0.replacing($1, with: "…") }
  }

  /// The client's credentials for HTTP Basic authentication; `nil` if they are not sent in this way.
  private var basicCredentials: String? {
    guard let secret = configuration.clientSecret, !configuration.sendsSecretInBody else { return nil }
    let pair = "\(Self.encoded(configuration.clientID)):\(Self.encoded(secret))"
    return Data(pair.utf8).base64EncodedString()
  }

  /// Encodes text as `application/x-www-form-urlencoded`, in which a plus sign represents a space.
  private static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "*"):
        String(UnicodeScalar(byte))
      case UInt8(ascii: " "): "+"
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    .joined()
  }
}
