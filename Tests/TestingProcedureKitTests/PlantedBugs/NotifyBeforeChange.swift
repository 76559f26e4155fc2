import TestingProcedureKit

/// A store that notifies its observers of a new state before the state changes.
actor NotifyBeforeChange: PlantedBug {
  private var state = "old"

  private func set(_ state: String) { self.state = state }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let store = NotifyBeforeChange()
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    async let writer: Void = {
      if version == .fixed { await store.set("new") }
      continuation.yield("new")
      if version == .broken { await store.set("new") }
      continuation.finish()
    }()
    for await event in events { env.check(await store.state == event, "an observer of a state sees the state") }
    await writer
  }
}
