import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The functions do the work of the README's procedures with tasks. The README gives the number of lines of each function, which
// `ProjectTests` counts.

func downloadByHand(_ urls: [URL]) async throws -> [Data] {
  try await withThrowingTaskGroup(of: (Int, Data).self) { group in
    var pages: [Int: Data] = [:]
    for (index, url) in urls.enumerated() {
      if index >= 4, let (index, page) = try await group.next() { pages[index] = page }
      group.addTask { (index, try await URLSession.shared.data(from: url).0) }
    }
    for try await (index, page) in group { pages[index] = page }
    return urls.indices.compactMap { pages[$0] }
  }
}

func patientlyByHand<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
  var longest = 0.2
  for _ in 1...3 {
    do {
      return try await inFiveSeconds(work)
    } catch {
      if Task.isCancelled { throw error }
      try await Task.sleep(for: .seconds(Double.random(in: 0...longest)))
      longest *= 2
    }
  }
  return try await inFiveSeconds(work)

  func inFiveSeconds(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        try await Task.sleep(for: .seconds(5))
        return nil
      }
      defer { group.cancelAll() }
      guard let value = try await group.next() ?? nil else { throw URLError(.timedOut) }
      return value
    }
  }
}

func makeThumbnailsByHand(of path: String) async throws -> [Photo] {
  let photo = Photo(width: 4_000)
  async let small = Photo(width: min(photo.width, 64))
  async let large = Photo(width: min(photo.width, 512))
  return await [small, large]
}
