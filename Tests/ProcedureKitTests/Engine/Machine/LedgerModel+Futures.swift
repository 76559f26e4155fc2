@testable import ProcedureKit

/// What can still happen, found by trying everything.
extension LedgerModel {
  /// Who is left where nothing more can happen, at the least, over all orders in which holders end and waiting claims are
  /// granted for whom there is enough, wherever they stand.
  func fewestLeft() -> Set<Int> {
    var seen: Set<[Int: State]> = []
    var fewest = Set(claims.keys)
    tryEverything(&seen, &fewest)
    return fewest
  }

  private func tryEverything(_ seen: inout Set<[Int: State]>, _ fewest: inout Set<Int>) {
    guard !fewest.isEmpty, seen.insert(claims.mapValues(\.state)).inserted else { return }
    if claims.count < fewest.count { fewest = Set(claims.keys) }
    for id in claims.keys.sorted() {
      var next = self
      switch self[id].state {
      case .waiting:
        guard fits(id) else { continue }
        next.line.removeAll { $0 == id }
        next[id].state = .granted
      case .granted:
        guard !line.contains(where: { dependents(of: $0).contains(id) }) else { continue }
        next.end(id)
      case .refused: next.end(id)
      case .over: continue
      }
      next.tryEverything(&seen, &fewest)
    }
  }

  /// Whether each link is true: who waits, for a resource that the holder has, which cannot end before the next one.
  func confirms(_ circle: [(claim: Int, resource: Int, holder: Int)]) -> Bool {
    !circle.isEmpty
      && circle.indices.allSatisfy { index in
        let (link, next) = (circle[index], circle[(index + 1) % circle.count])
        return self[link.claim].wants[link.resource] != nil && isHolder(link.holder)
          && self[link.holder].wants[link.resource] != nil && !self[link.claim].ancestors.contains(link.holder)
          && dependents(of: next.claim).contains(link.holder)
      }
  }
}
