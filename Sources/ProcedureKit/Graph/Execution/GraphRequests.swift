import Synchronization

/// The values that bodies have requested by key in one run of a graph.
///
/// Each value is computed by a child of the graph's run. The graph therefore waits for the child to end, and cancels the child if the graph
/// itself is cancelled. A failure of the child affects only the bodies that request the value.
final class GraphRequests: Sendable {
  private struct ID: Hashable, Sendable {
    let type: ObjectIdentifier
    let key: InternedKey
  }

  private struct Value: Sendable {
    let id: ID
    let key: any GraphKey
    let run: Run
    /// The number of requests that have not ended.
    var requestCount = 1
  }

  private struct State: Sendable {
    var values: [ID: Value] = [:]
    /// The runs that are computing values or have computed them.
    var runs: Set<ProcedureID> = []
    /// The runs that were cancelled because no body was waiting for their values anymore. A cancelled run can take a while to end.
    var abandoned: [ID: [Run]] = [:]

    mutating func join(_ id: ID) -> Value? {
      values[id]?.requestCount += 1
      return values[id]
    }

    /// Adds a value and returns the abandoned computations of the same value, which the caller releases after the lock is released.
    mutating func insert(_ value: Value) -> [Run] {
      values[value.id] = value
      runs.insert(value.run.id)
      let earlier = abandoned.removeValue(forKey: value.id) ?? []
      let unfinished = earlier.filter { !$0.isFinished }
      if !unfinished.isEmpty { abandoned[value.id] = unfinished }
      return earlier
    }
  }

  private let run: Run
  private let procedures: [any KeyedProcedure]
  private let state = Mutex(State())
  /// For each run that computes a value, the values for which its body is waiting. If a graph is nested in another graph that declares
  /// keys, both graphs share these waits, because a cycle can involve both.
  private let waits: Locked<[ProcedureID: [Value]]>

  init(_ procedures: [any KeyedProcedure], in run: Run) {
    (self.run, self.procedures) = (run, procedures)
    waits = run.ancestors.lazy.compactMap { $0.currentGraph?.requests }.first?.waits ?? Locked([:])
  }

  // MARK: Requests

  /// A request for a value, and the graph that can compute the value.
  struct Request<Key: GraphKey> {
    private let key: Key
    private let procedure: KeyProcedure<Key>
    private let requests: GraphRequests
    /// The innermost enclosing run that itself computes the value of a key.
    private var requester: ProcedureID? = nil

    /// Finds the nearest graph that encloses `run` and declares the type of the key. Returns `nil` if there is none.
    init?(_ key: Key, from run: Run) {
      var (passed, found): ([ProcedureID], (procedure: KeyProcedure<Key>, requests: GraphRequests)?) = ([], nil)
      for run in run.ancestors {
        if let graph = run.currentGraph {
          if let found {
            // Graphs around the declaring graph are notified only of requests for volatile values, because only such a value can change
            // unnoticed.
            if found.procedure.isVolatile { graph.plan.requestObserver?(key, passed, false) }
          } else {
            let procedure = graph.requests?.procedures.lazy.compactMap { $0 as? KeyProcedure<Key> }.first
            graph.plan.requestObserver?(key, passed, procedure != nil)
            found = procedure.flatMap { procedure in graph.requests.map { (procedure, $0) } }
          }
          requester = requester ?? graph.requests?.first(computing: passed)
          if let found, requester != nil, !found.procedure.isVolatile { break }
        }
        let id = run.reported.id
        if passed.last != id { passed.append(id) }
      }
      guard let found else { return nil }
      (self.key, procedure, requests) = (key, found.procedure, found.requests)
    }

    /// Waits for the value. The first request for a key starts the computation.
    func value() async throws -> Key.Value {
      let (value, start) = try requests.join(key, procedure)
      defer { requests.left(value) }
      let body = ProcedureContext.current?.run.nearestUnfinished
      let waiting = value.run.isFinished ? nil : requester
      let cycle = waiting.flatMap { requests.waitStarted(of: $0, for: value) }
      defer { if let waiting, cycle == nil { requests.waitEnded(of: waiting, for: value) } }
      // The computation starts after the wait is recorded. Otherwise, if the computation requested the requester's value at once, this wait
      // would be recorded last, and the wrong request would fail.
      start?()
      body?.didRequest(value.run.identity)
      if let cycle { throw GraphKeyError(.cycle, cycle) }
      let handle = ProcedureHandle<Key.Value>(value.run)
      if value.run.isFinished { return try await handle.value }
      // The computation gets at least the priority of the body that waits for its value (Q7).
      if let body { value.run.core.raise(value.run, to: body.currentPriority) }
      return try await handle.value
    }
  }

  /// Joins the computation of a value, or creates it. The caller must call `left` afterwards.
  ///
  /// - Returns: The value and, for a new computation, a function that the caller must call to start the computation.
  private func join<Key: GraphKey>(
    _ key: Key, _ procedure: KeyProcedure<Key>
  ) throws -> (value: Value, start: (() -> Void)?) {
    let id = ID(type: ObjectIdentifier(Key.self), key: .of(key))
    if let value = state.withLock({ $0.join(id) }) { return (value, nil) }
    // A cancelled body could not wait for the value.
    if ProcedureContext.isCurrentCancelled { throw ProcedureContext.cancellationError }
    let task = procedure.task.relabelled { [name = key.name] in $0.name = name }.resolved(for: key)
    let new = Value(
      id: id, key: key,
      run: Run(
        run.queueOfChildren, task.layer, .added, parent: run, closures: task.closures, body: task.body(with: key)))
    let (value, abandoned) = state.withLock { state in
      if let value = state.join(id) { return (value, [Run]()) }
      return (new, state.insert(new))
    }
    guard value.run === new.run else { return (value, nil) }
    // The procedure is never executed twice for a key at the same time. A computation that was abandoned before it started does not
    // wait for earlier computations, so the new computation waits for all abandoned computations.
    let earlier = abandoned.map { ProcedureHandle<Key.Value>($0).catchingErrors() }
    return (value, { [run] in run.start(new.run, as: .element, after: earlier) })
  }

  /// Records that a request has ended. If no other request remains and there is no value yet, the computation is cancelled. A later request
  /// then starts a new computation.
  private func left(_ value: Value) {
    let isAbandoned = state.withLock { state in
      state.values[value.id]?.requestCount -= 1
      guard state.values[value.id]?.requestCount == 0, !value.run.isFinished else { return false }
      state.values[value.id] = nil
      state.abandoned[value.id, default: []].append(value.run)
      return true
    }
    if isAbandoned { value.run.cancel(nil) }
  }

  private func first(computing runs: [ProcedureID]) -> ProcedureID? {
    state.withLock { state in runs.first(where: state.runs.contains) }
  }

  // MARK: Cycles

  /// Records that `requester` is waiting for `value`, unless the wait would close a cycle (R4).
  ///
  /// - Returns: The keys of the cycle, which begins and ends with the requester's key; `nil` if there is no cycle.
  private func waitStarted(of requester: ProcedureID, for value: Value) -> [any GraphKey]? {
    waits.withLock { waits in
      // A breadth-first search for the requester. Each element contains the index of the value that is waiting for it.
      var (reached, seen) = ([(value: value, from: -1)], Set([value.run.id]))
      var index = 0
      while index < reached.count {
        let id = reached[index].value.run.id
        if id == requester {
          var keys: [any GraphKey] = []
          while index >= 0 {
            keys.append(reached[index].value.key)
            index = reached[index].from
          }
          return [keys[0]] + keys.reversed()
        }
        for next in waits[id] ?? [] where seen.insert(next.run.id).inserted { reached.append((next, index)) }
        index += 1
      }
      waits[requester, default: []].append(value)
      return nil
    }
  }

  private func waitEnded(of requester: ProcedureID, for value: Value) {
    waits.withLock { waits in
      guard let index = waits[requester]?.firstIndex(where: { $0.run === value.run }) else { return }
      waits[requester]?.remove(at: index)
      if waits[requester]?.isEmpty ?? false { waits[requester] = nil }
    }
  }
}

/// The procedure that computes the values of all keys of one type.
///
/// The protocol is `package` because `ProcedureKitDurable` uses it.
package protocol KeyedProcedure: Sendable {
  associatedtype Key: GraphKey

  /// The procedure that computes a value.
  var task: ProcedureTask<Key, Key.Value> { get }

  /// Whether a value can change between runs even if all values requested by its computation stay the same.
  var isVolatile: Bool { get }
}

/// A procedure that computes the values of keys of type `Key`. No other type conforms to `KeyedProcedure`.
package struct KeyProcedure<Key: GraphKey>: KeyedProcedure {
  package let task: ProcedureTask<Key, Key.Value>
  package let isVolatile: Bool

  package init(task: ProcedureTask<Key, Key.Value>, isVolatile: Bool) {
    (self.task, self.isVolatile) = (task, isVolatile)
  }

  package var version: UInt32 { task.layer.traits.version }
}

/// A function that is called when a body within a graph requests a value.
///
/// The function receives the key, and the IDs of the runs between the request and the run of the graph, innermost first. `isDeclared` is
/// `true` if the graph itself declares the type of the key. If a nested graph declares the type, the function is called only for a volatile
/// value.
package typealias RequestObserver = @Sendable (_ key: any GraphKey, _ runs: [ProcedureID], _ isDeclared: Bool) -> Void
