import Foundation

/// One connection, from its acceptance to its end, on a thread of its own: one request and its response.
struct Connection {
  let socket: Socket
  let core: ServerCore

  func serve() {
    do throws(Ending) {
      try answer()
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

  private func answer() throws(Ending) {
    var reader = RequestReader(socket: socket)
    guard let head = ServerRequest(head: try reader.head()) else { return try refuse() }
    var request = core.state.update { $0.began(head) }
    var response = core.beforeBody(request)
    if response == nil {
      if request.expectsContinue { try socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      guard let body = try reader.body(of: request) else { return try refuse() }
      request.body = body
    }
    core.state.update { [request] in $0.arrived(request, on: socket.descriptor) }
    let final = (response ?? core.handler(request)).selected(for: request)
    response = nil
    try ResponseWriter(response: final, socket: socket, willEnd: endAnswer).write(
      hasBody: final.hasBody(for: request.method))
  }

  private func refuse() throws(Ending) {
    let response = ServerResponse.status(400)
    try ResponseWriter(response: response, socket: socket, willEnd: endAnswer).write(hasBody: true)
  }

  /// Called before the last byte goes out: afterwards the client may send its next request.
  private func endAnswer() {
    core.state.update { _ = $0.answering.remove(socket.descriptor) }
  }
}
