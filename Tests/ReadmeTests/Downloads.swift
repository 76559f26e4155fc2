import Foundation
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

func download(_ urls: [URL]) async throws -> [Data] {
  try await ProcedureQueue(maxConcurrentProcedures: 4).map(urls) { try await URLSession.shared.data(from: $0).0 }
}

struct Fetch: Procedure {
  func execute(_ url: URL) async throws -> Data {
    let (data, response) = try await URLSession.shared.data(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    return data
  }
}

extension Procedure {
  /// Each attempt may take up to five seconds. A pause between two attempts occupies no slot of the queue.
  var patient: ProcedureTask<Input, Output> {
    timeout(.seconds(5)).retry(.exponential(from: .milliseconds(200)).jittered(), maxAttempts: 4)
  }
}

func downloadWithProgress(_ urls: [URL], show: @escaping @Sendable (String) -> Void) async throws -> [Data] {
  let queue = ProcedureQueue("downloads", maxConcurrentProcedures: 4)
  let events = queue.events  // a stream of all later events
  async let progress: Void = {
    var count = 0
    for await event in events where event.parent != nil {  // the map itself has no parent
      if event.kind == .retrying { show("\(event.name): attempt \(event.attempt) failed") }
      guard event.kind == .didFinish, let outcome = event.outcome else { continue }
      count += 1
      show("\(count) of \(urls.count): \(event.name) \(outcome)")
    }
  }()
  let pages = try await queue.map(urls, with: Fetch().patient, elementName: \.lastPathComponent)
  await queue.shutDown()  // ends the stream
  await progress
  return pages
}
