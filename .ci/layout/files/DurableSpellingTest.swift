  @Test("Two spellings are two keys of a journal, and two dependencies of a record")
  func keys() {
    let paths = spellings.map { JournalKey(path: $0, fingerprint: Fingerprint(of: [])) }
    #expect(Set(paths).count == 2)
    let dependencies = spellings.map { JournalRecord.Dependency(name: $0, prefix: 1) }
    #expect(dependencies[0] != dependencies[1])
  }
