/// The state of a server's connections and requests.
struct ServerState {
  var requests: [ServerRequest] = []
  /// The number of requests for each path.
  var attempts: [String: Int] = [:]
  /// The descriptors of open connections.
  var open: Set<Int32> = []
  /// The descriptors of the connections whose requests are being answered.
  var answering: Set<Int32> = []
  var peak = 0
  var isStopped = false

  mutating func began(_ request: ServerRequest) -> ServerRequest {
    var request = request
    attempts[request.path, default: 0] += 1
    request.attempt = attempts[request.path] ?? 1
    return request
  }

  mutating func arrived(_ request: ServerRequest, on descriptor: Int32) {
    requests.append(request)
    answering.insert(descriptor)
    peak = max(peak, answering.count)
  }
}
