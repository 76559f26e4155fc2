import Foundation
import ProcedureKit

/// The response from a token endpoint (RFC 6749, sections 5.1 and 5.2).
struct TokenResponse {
  let token: BearerToken
  /// How long the token is valid; `nil` if the server does not specify it.
  let lifetime: Duration?
  let refreshToken: String?

  private struct Success: Decodable {
    var accessToken: String
    var tokenType: String
    var expiresIn: Seconds?
    var refreshToken: String?
  }

  private struct Failure: Decodable {
    var error: String
    var errorDescription: String?
  }

  /// A number of seconds, which some servers send as a string.
  private struct Seconds: Decodable {
    let count: Double?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      count = try (try? container.decode(Double.self)) ?? Double(container.decode(String.self))
    }
  }

  init(
    _ response: HTTPPayloadResponse<Data>, to request: TokenRequest, service: String
  ) throws(OAuthError) {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard response.status.isSuccess else {
      if let failure = try? decoder.decode(Failure.self, from: response.payload) {
        let description = request.hidingSecrets(in: failure.errorDescription ?? "no reason given")
        let code = request.hidingSecrets(in: failure.error)
        throw OAuthError(.refused, service, code: code.quotable, description.quotable)
      }
      // Many servers refuse a client with a plain 401, without the JSON that RFC 6749 requires.
      if response.status == 401 {
        throw OAuthError(.refused, service, code: "invalid_client", "status 401")
      }
      throw OAuthError(.invalidResponse, service, "status \(response.status)")
    }
    guard let success = try? decoder.decode(Success.self, from: response.payload) else {
      throw OAuthError(.invalidResponse, service, "a body that does not have the JSON format of RFC 6749")
    }
    guard success.tokenType.lowercased() == "bearer" else {
      throw OAuthError(
        .invalidResponse, service,
        "a token of type \(request.hidingSecrets(in: success.tokenType).quotable) instead of Bearer")
    }
    guard let token = BearerToken(success.accessToken) else {
      throw OAuthError(.invalidResponse, service, "a token that is not valid in a header field")
    }
    self.token = token
    // A lifetime of more than a century is shortened so that it cannot overflow.
    lifetime = success.expiresIn?.count.flatMap { $0.isNaN ? nil : .seconds(min(max($0, 0), 4e9)) }
    refreshToken = success.refreshToken
  }
}
