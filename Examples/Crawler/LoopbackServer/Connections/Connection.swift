import Foundation

/// A connection that is served on a separate thread. It carries one request and its response, or several requests and responses in
/// sequence.
struct Connection {
  let socket: Socket
  let core: ServerCore

  func serve() {
    do throws(Ending) {
      var reader = RequestReader(socket: socket)
      while try answer(&reader), core.keepsConnections { continue }
      socket.finish()
    } catch {
      switch error {
      case .closed: socket.finish()
      case .reset: socket.makeCloseReset()
      case .left: break
      }
    }
    core.close(socket)
  }

  /// Answers a request, and returns whether another request can follow.
  private func answer(_ reader: inout RequestReader) throws(Ending) -> Bool {
    guard let head = ServerRequest(head: try reader.head()) else { return try refuse() }
    var request = core.state.update { $0.began(head) }
    var response = core.beforeBody(request)
    if response == nil {
      if request.expectsContinue { try socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      guard let body = try reader.body(of: request) else { return try refuse() }
      request.body = body
    }
    core.state.update { [request] in $0.arrived(request, on: socket.descriptor) }
    var final = (response ?? core.handler(request)).selected(for: request)
    response = nil
    if core.keepsConnections, final.headers["Connection"] == nil { final.headers["Connection"] = "keep-alive" }
    try ResponseWriter(response: final, socket: socket, willEnd: endAnswer).write(
      hasBody: final.hasBody(for: request.method))
    return true
  }

  private func refuse() throws(Ending) -> Bool {
    let response = ServerResponse.status(400)
    try ResponseWriter(response: response, socket: socket, willEnd: endAnswer).write(hasBody: true)
    return false
  }

  /// Records that the current request has been answered. This function is called before the last bytes are sent, because the client can
  /// send its next request as soon as they arrive.
  private func endAnswer() {
    core.state.update { _ = $0.answering.remove(socket.descriptor) }
  }
}
