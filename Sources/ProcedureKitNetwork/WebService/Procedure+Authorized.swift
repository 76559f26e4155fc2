import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Procedure where Input: NetworkRequest {
  /// Returns a procedure that sends the token of a web service with each request (`Authorization: Bearer`, RFC 6750).
  ///
  /// If the service responds with status 401, a new token is requested, once for all procedures whose token was refused. Each of their
  /// requests is then sent once more. A second 401 is returned like any other status. After a redirect to another origin, the token is no
  /// longer sent, even if a later redirect leads back to the original origin. If a request was sent without the token, no new token is
  /// requested after a 401.
  ///
  /// The procedure does not hold a slot while it is waiting for a token. If `.resilient()` is applied after this modifier, the time limit
  /// of an attempt includes the token request. If `.resilient()` is applied before this modifier, the limit does not include the token
  /// request.
  ///
  /// - Parameter service: The service whose token is sent.
  /// - Returns: A procedure that fails with ``OAuthError`` if the service does not provide a token.
  public func authorized<Payload>(
    by service: WebServiceCapability
  ) -> ProcedureTask<Input, Output> where Output == HTTPPayloadResponse<Payload> {
    let tokens = service.tokens
    return configured { _, procedure in
      let sign = ProcedureTask("sign") { (input: Input) in
        try input.urlRequest.check()
        var input = input
        input.urlRequest.setValue(try await tokens.token().authorization, forHTTPHeaderField: "Authorization")
        return input
      }
      return sign.then(procedure.reportingRejectedTokens())
        .retry(.immediate, maxAttempts: 2) { error, _ in
          guard let rejected = error as? RejectedToken<Payload> else { return .stop }
          tokens.reject(rejected.token)
          return .retry
        }
        .recover { error in
          guard let rejected = error as? RejectedToken<Payload> else { throw error }
          return try rejected.answer.get()
        }
    }
  }

  /// Returns a procedure that throws ``RejectedToken`` for status 401, even if this procedure considers that status a success.
  ///
  /// A 401 is ignored if the request was sent without the token. A redirect to another origin removes the token, and a redirect back does
  /// not restore it.
  private func reportingRejectedTokens<Payload>() -> ProcedureTask<Input, Output>
  where Output == HTTPPayloadResponse<Payload> {
    configured { input, procedure in
      let header = input.urlRequest.value(forHTTPHeaderField: "Authorization") ?? ""
      guard let token = BearerToken(authorization: header) else { return procedure }
      return procedure.map { response in
        guard response.status == 401, !response.hasLostAuthorization, input.isAnswered(by: response.response) else {
          return response
        }
        throw RejectedToken(token: token, answer: .success(response))
      }
      .recover { error in
        guard let refusal = error as? NetworkError, refusal.kind == .unacceptableStatus, refusal.status == 401,
          !refusal.lacksAuthorization, let response = refusal.response, input.isAnswered(by: response)
        else { throw error }
        throw RejectedToken<Payload>(token: token, answer: .failure(refusal))
      }
    }
  }
}

extension NetworkRequest {
  /// Returns whether a response comes from the origin that the request was sent to.
  fileprivate func isAnswered(by response: HTTPURLResponse) -> Bool {
    guard let origin = urlRequest.url, let url = response.url else { return true }
    return url.hasSameOrigin(as: origin)
  }
}

/// An error that is thrown if the service rejects a token with status 401.
private struct RejectedToken<Payload: Sendable>: Error, CustomStringConvertible, CustomReflectable {
  let token: BearerToken
  let answer: Result<HTTPPayloadResponse<Payload>, any Error>

  var description: String { "the service no longer accepts the token (status 401)" }

  /// An empty mirror, because the response contains the complete URL and all header fields.
  var customMirror: Mirror { Mirror(self, children: []) }
}
