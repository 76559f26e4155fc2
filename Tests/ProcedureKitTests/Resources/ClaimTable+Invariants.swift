@testable import ProcedureKit

extension ClaimTable {
  /// Traps if the claims, entries, and pools contradict each other.
  ///
  /// - Complexity: O(n) for n entries, plus O(n) for each entry that shares a line with another entry.
  func checkInvariants() {
    var used: [Int32: Int32] = [:]
    var counts: [Int32: Int32] = [:]
    var (nested, waiting): ([Int32: Int32], [Int32: [Int32]]) = ([:], [:])
    for (run, claim) in numbers {
      precondition(claims[claim].run == run && (claims[claim].phase != .ended || claims[claim].nestedEntries > 0))
      _ = allEntries(of: claim) { entry in
        precondition(entry.claim == claim && entry.units > 0)
        if claims[claim].phase == .waiting {
          waiting[entry.pool, default: []].append(claim)
        } else {
          used[entry.pool, default: 0] += entry.units
        }
        counts[entry.pool, default: 0] += 1
        nested[pools[entry.pool].owner, default: 0] += 1
        return true
      }
      precondition(
        claims[claim].phase != .waiting || !canBeGranted(claim), "the waiting claim of run \(run) could be granted")
    }
    precondition(claims.count == numbers.count && entries.count == counts.values.reduce(0, { $0 + Int($1) }))
    for claim in numbers.values { precondition(claims[claim].nestedEntries == nested[claim] ?? 0) }
    for (number, count) in counts {
      let pool = pools[number]
      precondition(pool.entryCount == count && pool.free == pool.capacity - (used[number] ?? 0))
      precondition(list(from: pool.line.first).map(\.claim).sorted() == (waiting[number] ?? []).sorted())
      precondition(list(from: pool.holders.first).count == Int(count) - (waiting[number]?.count ?? 0))
    }
    precondition(poolsToServe.isEmpty, "the free units of a pool were not granted")
  }
}
