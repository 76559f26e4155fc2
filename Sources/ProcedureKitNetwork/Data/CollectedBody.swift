import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A sink that collects the body of a response in memory, up to a limit.
final class CollectedBody: BodySink {
  private struct State {
    var data = Data()
    var reservation = 0
    var head: (request: URLRequest, response: ReceivedResponse)?
  }

  private let limit: Int64
  private let state = Mutex(State())

  init(limit: Int64) {
    self.limit = limit
  }

  var data: Data { state.withLock { $0.data } }

  func begin(_ response: ReceivedResponse, to request: URLRequest, length: Int64?) throws -> BodyStart {
    guard length ?? 0 <= limit else { throw tooLarge(request, response) }
    state.withLock { state in
      state.head = (request, response)
      // The announced length is only a claim by the server, so no more than 1 MiB is reserved in advance.
      state.reservation = Int(min(length ?? 0, 1 << 20))
    }
    return BodyStart(total: length)
  }

  func receive(_ data: Data) throws {
    let head = state.withLock { state in
      guard Int64(state.data.count + data.count) <= limit else { return state.head }
      if state.data.isEmpty {
        // Most bodies arrive in one piece.
        state.data = data
        if data.count < state.reservation { state.data.reserveCapacity(state.reservation) }
      } else {
        state.data += data
      }
      return nil
    }
    if let head { throw tooLarge(head.request, head.response) }
  }

  private func tooLarge(_ request: URLRequest, _ response: ReceivedResponse) -> NetworkError {
    NetworkError(.tooLarge, request, limit.counting("byte"), response: response.object)
  }
}
