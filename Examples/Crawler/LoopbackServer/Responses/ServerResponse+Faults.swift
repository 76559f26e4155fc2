extension ServerResponse {
  /// A response that never arrives. The connection remains open until the client disconnects or the server stops.
  public static var neverAnswers: ServerResponse { .ok("").with(.silence, nil) }

  /// A response that closes the connection without sending a byte.
  public static var closes: ServerResponse { .ok("").with(.close, nil) }

  /// A response that resets the connection without sending a byte.
  public static var resets: ServerResponse { .ok("").with(.reset, nil) }

  /// Returns a response that waits at a gate.
  ///
  /// - Parameters:
  ///   - gate: The gate, which several responses can share.
  ///   - count: The number of bytes of the body that are sent before the gate. By default, the gate is before the head.
  /// - Returns: The response.
  public func gated(_ gate: ServerGate, after count: Int? = nil) -> ServerResponse { with(.gate(gate), count) }

  /// Returns a response that stops in the middle of its body, and sends nothing more until the client disconnects or the server stops.
  public func stalled(after count: Int) -> ServerResponse { with(.silence, count) }

  /// Returns a response that pauses in real time. In tests, use a gate instead if possible.
  ///
  /// - Parameters:
  ///   - pause: The duration of the pause.
  ///   - count: The number of bytes of the body that are sent before the pause. By default, the pause is before the head.
  /// - Returns: The response.
  public func delayed(_ pause: Duration, after count: Int? = nil) -> ServerResponse { with(.pause(pause), count) }

  /// Returns a response whose body is sent in pieces, with a pause in real time after each piece except the last.
  public func slow(_ size: Int, pause: Duration) -> ServerResponse {
    precondition(size > 0, "a piece must have at least one byte")
    var response = self
    response.pace = (size, pause)
    return response
  }

  /// Returns a response whose connection is closed after part of the body, although the head announces the entire body.
  public func truncated(after count: Int) -> ServerResponse { with(.close, count) }

  /// Returns a response whose connection is reset after part of the body.
  public func reset(after count: Int) -> ServerResponse { with(.reset, count) }

  /// Returns a response with a chunked body.
  ///
  /// - Parameter size: The number of bytes in each chunk except the last.
  /// - Returns: The response.
  public func chunked(by size: Int = 1_000) -> ServerResponse {
    precondition(size > 0, "a chunk must have at least one byte")
    var response = self
    response.framing = .chunks(size)
    return response
  }

  /// Returns a response whose head does not specify a length, so the body ends when the connection is closed.
  public func withoutLength() -> ServerResponse {
    var response = self
    response.framing = .close
    return response
  }

  private func with(_ kind: Fault.Kind, _ offset: Int?) -> ServerResponse {
    var response = self
    response.faults.append(Fault(kind: kind, offset: offset))
    return response
  }
}
