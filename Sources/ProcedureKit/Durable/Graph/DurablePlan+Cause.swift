extension DurablePlan {
  func typeName(of node: Int32) -> String { "\(layout.slots[Int(graph.slot(of: node))].type)" }

  /// Explains why the journal has no value of a node whose dependencies have these fingerprints.
  func cause(of node: Int32, _ fingerprints: [Fingerprint]) async throws -> ExecutionCause {
    // An entry that something other than a node has written under the path explains nothing, and does no harm.
    guard let latest = try await journal.latestKey(at: paths[Int(node)]), let bytes = try await journal.read(latest),
      let record = JournalRecord(bytes), record.versions.count == 2
    else { return .notRemembered }
    if record.versions != versions(of: node) { return .versionChanged }
    let (now, before) = (recordedDependencies(of: node, fingerprints), record.dependencies)
    let names = Set(now.map { ByteText($0.name) })
    let changed = now.filter { !before.contains($0) } + before.filter { !names.contains(ByteText($0.name)) }
    return changed.isEmpty ? .notRemembered : .dependenciesChanged(changed.map(\.name))
  }
}
