import Testing

@testable import ProcedureKit

/// What ends with a run, while its worker has the context of its bodies bound.
@Suite struct WorkerFrameEndTests {
  /// Notes, where its life ends, in whose context that is.
  private final class Probe: Sendable {
    let owner: String
    private let seen: Box<[String: String?]>
    private let action: @Sendable () -> Void

    init(_ owner: String, _ seen: Box<[String: String?]>, _ action: @escaping @Sendable () -> Void = {}) {
      (self.owner, self.seen, self.action) = (owner, seen, action)
    }

    deinit {
      let (owner, name) = (owner, ProcedureContext.current?.name)
      seen.update { $0[owner] = .some(name) }
      action()
    }
  }

  private struct ProbeError: Error {
    let probe: Probe
  }

  private let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
  private let seen = Box<[String: String?]>([:])

  @Test("A value that nobody wants ends in no context, and not in that of the next run", arguments: [false, true])
  func values(throwing: Bool) async {
    for number in 0..<20 {
      queue.add(
        ProcedureTask("\(number)") { [seen] in
          let probe = Probe("\(number)", seen)
          if throwing { throw ProbeError(probe: probe) }
          return probe
        })
    }
    await queue.resume()
    await queue.waitUntilIdle()
    #expect(seen.value.count == 20)
    #expect(seen.value.filter { $0.value != nil } == [:])
  }

  @Test("What the end of a value cancels is not the next run")
  func cancel() async throws {
    for number in 0..<2 {
      queue.add(
        ProcedureTask("\(number)") { [seen] in Probe("\(number)", seen) { ProcedureContext.current?.cancel() } })
    }
    let next = queue.add(ProcedureTask("next") { 1 })
    await queue.resume()
    #expect(try await next.value == 1)
  }

  @Test("What a condition has captured ends in no context")
  func conditions() async {
    for number in 0..<20 {
      let probe = Probe("\(number)", seen)
      queue.add(ProcedureTask("\(number)") {}.condition(Condition("c") { !probe.owner.isEmpty }))
    }
    await queue.resume()
    await queue.waitUntilIdle()
    #expect(seen.value.count == 20)
    #expect(seen.value.filter { $0.value != nil } == [:])
  }

  private struct Category: Hashable {
    let probe: Probe

    static func == (one: Category, other: Category) -> Bool { one.probe.owner == other.probe.owner }

    func hash(into hasher: inout Hasher) { hasher.combine(probe.owner) }
  }

  @Test("What names a category ends in no context")
  func categories() async {
    for number in 0..<200 {
      queue.add(ProcedureTask("\(number)") {}.exclusive(Category(probe: Probe("\(number)", seen))))
    }
    await queue.resume()
    await queue.waitUntilIdle()
    for _ in 0..<100_000 where seen.value.count < 200 { await Task.yield() }
    #expect(seen.value.count == 200)
    #expect(seen.value.filter { $0.value != nil } == [:])
  }

  /// A clock that calls something, once, when it is read.
  private final class Snooping: Clock {
    typealias Instant = ContinuousClock.Instant
    let minimumResolution = Duration.nanoseconds(1)
    let action = Box<(@Sendable () -> Void)?>(nil)

    var now: Instant {
      let action = action.update { action in
        defer { action = nil }
        return action
      }
      action?()
      return ContinuousClock.now
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      await untilCancelled()
    }
  }

  @Test("Who listens for the end at the last moment is told in no context")
  func listeners() async {
    let clock = Snooping()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true, clock: clock)
    queue.add(ProcedureTask("first") {})
    let slot = Box<ProcedureHandle<Void>?>(nil)
    // The worker reads the clock next while it exchanges this run for the next.
    let handle = queue.add(
      ProcedureTask("second") { [seen] in
        let handle = slot.value
        clock.action.update {
          $0 = {
            handle?.whenFinished { _ in seen.update { $0["listener"] = .some(ProcedureContext.current?.name) } }
          }
        }
      })
    slot.update { $0 = handle }
    queue.add(ProcedureTask("third") {})
    await queue.resume()
    await queue.waitUntilIdle()
    #expect(seen.value == ["listener": nil])
  }
}
