import ProcedureKit

struct Photo: Sendable { var width: Int }

let thumbnails = ProcedureGraph("thumbnails") { (g, path: Node<String>) in
  let photo = g.add("load", from: path) { path in Photo(width: 4_000) }  // a stand-in for real work
  let small = g.add("small", from: photo) { photo in Photo(width: 64) }
  let large = g.add("large", from: photo) { photo in Photo(width: 512) }
  return g.add("pack", from: small, large) { small, large in [small, large] }
}

func makeThumbnails(of path: String) async throws -> [Photo] {
  try await ProcedureQueue(maxConcurrentProcedures: 2).run(thumbnails, input: path)
}
